#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/layer_normalization.h"

namespace cairn::nn::cuda {
namespace {

using Kind = LayerNormalizationLayer::Kind;

// The sets of elements that are normalized together.
struct Sets {
  Kind kind = Kind::kMoments;
  Divisor width;
  Divisor groups;
  Divisor positions;
  int64_t count = 1;  // Sets of the batch.
  double epsilon = 0;

  __device__ int64_t size() const { return positions * width; }
  // The index of element k of a set.
  __device__ int64_t At(int64_t set, int64_t k) const {
    const int64_t stride = groups * width;
    const int64_t first = set / groups;
    const int64_t position = k / width;
    return (first * positions + position) * stride + (set - first * groups) * width + k -
           position * width;
  }
  // The element of gamma and beta.
  __device__ int64_t Channel(int64_t set, int64_t k) const {
    return set % groups * width + k % width;
  }
};

// y = (x - mean) * inverse * gamma + beta. A null gamma means 1, a null beta 0. Writes the mean (or
// 0) and 1 / deviation of each set.
void Normalize(Context* context, const Sets& sets, const float* x, const float* gamma,
               const float* beta, float* means, float* inverses, float* y) {
  ForEachRow(context, sets.count, sets.positions * sets.width,
             [=] __device__(int64_t set, const RowBlock& block) {
               const auto count = static_cast<double>(sets.size());
               double sum = 0;
               for (int64_t k = block.first(); k < sets.size(); k += block.step()) {
                 sum += x[sets.At(set, k)];
               }
               sum = block.Sum(sum);
               const float mean = sets.kind == Kind::kMoments ? static_cast<float>(sum / count) : 0;
               double squares = 0;
               for (int64_t k = block.first(); k < sets.size(); k += block.step()) {
                 const double deviation = static_cast<double>(x[sets.At(set, k)]) - mean;
                 squares += deviation * deviation;
               }
               squares = block.Sum(squares);
               const float inverse = static_cast<float>(
                   1 / sqrt(sets.kind == Kind::kUnit ? fmax(squares, sets.epsilon)
                                                     : squares / count + sets.epsilon));
               for (int64_t k = block.first(); k < sets.size(); k += block.step()) {
                 const int64_t channel = sets.Channel(set, k);
                 float value = (x[sets.At(set, k)] - mean) * inverse;
                 if (gamma != nullptr) value *= gamma[channel];
                 if (beta != nullptr) value += beta[channel];
                 y[sets.At(set, k)] = value;
               }
               if (block.first() == 0) {
                 means[set] = mean;
                 inverses[set] = inverse;
               }
             });
}

// With n = (x - mean) / deviation and h = g gamma:
//   dx = (h - mean(h) - n mean(h n)) / deviation
// Without a mean of x the term mean(h) is absent. For a unit norm n has the norm 1, so that the
// last mean is a sum.
void InputGradient(Context* context, const Sets& sets, const float* x, const float* gamma,
                   const float* means, const float* inverses, const float* gradient, float* to) {
  ForEachRow(context, sets.count, sets.positions * sets.width,
             [=] __device__(int64_t set, const RowBlock& block) {
               const double mean = means[set];
               const double inverse = inverses[set];
               double sum = 0;
               double product = 0;
               for (int64_t k = block.first(); k < sets.size(); k += block.step()) {
                 const int64_t at = sets.At(set, k);
                 const double h =
                     gamma == nullptr ? gradient[at] : gradient[at] * gamma[sets.Channel(set, k)];
                 sum += h;
                 product += h * (x[at] - mean) * inverse;
               }
               const auto count = static_cast<double>(sets.size());
               sum = block.Sum(sum) / count;
               product = block.Sum(product);
               if (sets.kind != Kind::kMoments) sum = 0;
               if (sets.kind != Kind::kUnit) product /= count;
               // A norm below the smallest one is a constant divisor.
               const bool is_constant = sets.kind == Kind::kUnit &&
                                        inverses[set] >= static_cast<float>(1 / sqrt(sets.epsilon));
               if (is_constant) product = 0;
               for (int64_t k = block.first(); k < sets.size(); k += block.step()) {
                 const int64_t at = sets.At(set, k);
                 const double h =
                     gamma == nullptr ? gradient[at] : gradient[at] * gamma[sets.Channel(set, k)];
                 const double n = (x[at] - mean) * inverse;
                 to[at] = static_cast<float>((h - sum - n * product) * inverse);
               }
             });
}

// The gradients of gamma and beta; null: not needed. Column c of a row of all channels belongs to
// the set of its group.
void VariableGradients(Context* context, const Sets& sets, const float* x, const float* means,
                       const float* inverses, const float* gradient, float* gamma_gradient,
                       float* beta_gradient) {
  const int64_t channels = sets.groups * sets.width;
  const int64_t rows = sets.count / sets.groups * sets.positions;
  SumColumns<2>(
      context, rows, channels,
      [=] __device__(int64_t row, int64_t c, ColumnSums<2> * sums) {
        const int64_t set = row / sets.positions * sets.groups + c / sets.width;
        const double g = gradient[row * channels + c];
        sums->values[0] += g * (x[row * channels + c] - means[set]) * inverses[set];
        sums->values[1] += g;
      },
      [=] __device__(int64_t c, const ColumnSums<2>& sums) {
        if (gamma_gradient != nullptr) gamma_gradient[c] = static_cast<float>(sums.values[0]);
        if (beta_gradient != nullptr) beta_gradient[c] = static_cast<float>(sums.values[1]);
      });
}

class LayerNormalizationKernel final : public Kernel {
 public:
  LayerNormalizationKernel(const LayerNormalizationLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        sets_({.kind = layer.kind(),
               .width = layer.width(),
               .groups = layer.groups(),
               .positions = layer.positions(),
               .count = context.options.examples * ElementCount(layer.output().shape) /
                        (layer.positions() * layer.width()),
               .epsilon = layer.epsilon()}),
        means_(context.cuda, sets_.count),
        inverses_(context.cuda, sets_.count) {
    context.cuda->ReserveScratch(ColumnScratchBytes<2>(sets_.count / sets_.groups * sets_.positions,
                                                       sets_.groups * sets_.width));
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    Normalize(context_, sets_, arguments.inputs[0], VariableOf(arguments.variables, layer_.gamma()),
              VariableOf(arguments.variables, layer_.beta()), means_.data(), inverses_.data(),
              arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    float* const gamma_gradient = VariableOf(arguments.variable_gradients, layer_.gamma());
    float* const beta_gradient = VariableOf(arguments.variable_gradients, layer_.beta());
    if (gamma_gradient != nullptr || beta_gradient != nullptr) {
      VariableGradients(context_, sets_, arguments.inputs[0], means_.data(), inverses_.data(),
                        arguments.output_gradient, gamma_gradient, beta_gradient);
    }
    if (arguments.input_gradients[0] == nullptr) return;
    InputGradient(context_, sets_, arguments.inputs[0],
                  VariableOf(arguments.variables, layer_.gamma()), means_.data(), inverses_.data(),
                  arguments.output_gradient, arguments.input_gradients[0]);
  }

 private:
  template <typename T>
  static T* VariableOf(absl::Span<T* const> variables, int index) {
    return index < 0 ? nullptr : variables[index];
  }

  Context* const context_;
  const LayerNormalizationLayer& layer_;
  const Sets sets_;
  // Of the last Forward, by set.
  DeviceArray<float> means_;
  DeviceArray<float> inverses_;
};

}  // namespace

std::unique_ptr<Kernel> CreateLayerNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context) {
  return std::make_unique<LayerNormalizationKernel>(
      static_cast<const LayerNormalizationLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda

#include "nn/cuda/kernels.h"
#include "nn/cuda/loops.h"
#include "nn/layers/batch_normalization.h"

namespace cairn::nn::cuda {
namespace {

// The mean and the biased variance of each channel. One pass over the batch: the deviations from
// the channel's first value are summed in double, which loses nothing where the mean is large.
void MeasureBatch(Context* context, int64_t rows, int64_t channels, const float* x, float* mean,
                  float* variance) {
  const double count = static_cast<double>(rows);
  SumColumns<2>(
      context, rows, channels,
      [=] __device__(int64_t row, int64_t c, ColumnSums<2> * sums) {
        const double deviation = static_cast<double>(x[row * channels + c]) - x[c];
        sums->values[0] += deviation;
        sums->values[1] += deviation * deviation;
      },
      [=] __device__(int64_t c, const ColumnSums<2>& sums) {
        const double shift = sums.values[0] / count;
        mean[c] = static_cast<float>(x[c] + shift);
        const double biased = sums.values[1] / count - shift * shift;
        variance[c] = static_cast<float>(biased < 0 ? 0 : biased);  // NaN stays NaN.
      });
}

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta. A null gamma means 1, a null beta 0.
// Writes the factor of x - mean to `scales`.
void Normalize(Context* context, int64_t rows, int64_t channels, double epsilon, const float* x,
               const float* mean, const float* variance, const float* gamma, const float* beta,
               float* scales, float* y) {
  ForEach(context, channels, [=] __device__(int64_t c) {
    const double inverse = 1 / sqrt(variance[c] + epsilon);
    scales[c] = static_cast<float>(gamma == nullptr ? inverse : inverse * gamma[c]);
  });
  MapColumns<1, 1>(context, rows, channels, {{x}, {y}},
                   [=] __device__(int64_t c, const float* from, float* to) {
                     to[0] = (from[0] - mean[c]) * scales[c] + (beta == nullptr ? 0 : beta[c]);
                   });
}

// The gradients of the variables. Null: not needed.
struct VariableGradients {
  float* gamma = nullptr;
  float* beta = nullptr;
  // Those of the moving statistics are the batch's, times the weight.
  float* mean = nullptr;
  float* variance = nullptr;
  float statistic_weight = 1;
};

// Writes sum(g) / n and i^2 sum(g (x - mean)) / n of each channel to `means`, see InputGradient,
// and the gradients of the variables.
void SumGradients(Context* context, int64_t rows, int64_t channels, double epsilon, const float* x,
                  const float* mean, const float* variance, const float* gradient, float* means,
                  const VariableGradients& variables) {
  const double count = static_cast<double>(rows);
  SumColumns<2>(
      context, rows, channels,
      [=] __device__(int64_t row, int64_t c, ColumnSums<2> * terms) {
        const double g = gradient[row * channels + c];
        terms->values[0] += g;
        terms->values[1] += g * (static_cast<double>(x[row * channels + c]) - mean[c]);
      },
      [=] __device__(int64_t c, const ColumnSums<2>& totals) {
        const double inverse = 1 / sqrt(variance[c] + epsilon);
        means[c] = static_cast<float>(totals.values[0] / count);
        means[channels + c] = static_cast<float>(totals.values[1] * inverse * inverse / count);
        if (variables.gamma != nullptr) {
          variables.gamma[c] = static_cast<float>(totals.values[1] * inverse);
        }
        if (variables.beta != nullptr) variables.beta[c] = static_cast<float>(totals.values[0]);
        if (variables.mean != nullptr) variables.mean[c] = variables.statistic_weight * mean[c];
        if (variables.variance != nullptr) {
          variables.variance[c] = variables.statistic_weight * variance[c];
        }
      });
}

// With d = x - mean, i = 1 / standard deviation and n rows:
//   dx = gamma i (g - sum(g) / n - d i^2 sum(g d) / n)
// With moving statistics (null `means`), which do not depend on x: dx = gamma i g.
void InputGradient(Context* context, int64_t rows, int64_t channels, const float* x,
                   const float* mean, const float* scales, const float* means,
                   const float* gradient, float* to) {
  if (means == nullptr) {
    return MapColumns<1, 1>(context, rows, channels, {{gradient}, {to}},
                            [=] __device__(int64_t c, const float* from, float* result) {
                              result[0] = from[0] * scales[c];
                            });
  }
  MapColumns<2, 1>(context, rows, channels, {{x, gradient}, {to}},
                   [=] __device__(int64_t c, const float* from, float* result) {
                     const float deviation = from[0] - mean[c];
                     result[0] = (from[1] - means[c] - deviation * means[channels + c]) * scales[c];
                   });
}

class BatchNormalizationKernel final : public Kernel {
 public:
  BatchNormalizationKernel(const BatchNormalizationLayer& layer, const KernelContext& context)
      : context_(context.cuda),
        layer_(layer),
        channels_(layer.output().shape.back()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / channels_),
        mean_(context.cuda, channels_),
        variance_(context.cuda, channels_),
        scales_(context.cuda, channels_),
        means_(context.cuda, 2 * channels_) {
    context.cuda->ReserveScratch(ColumnScratchBytes<2>(rows_, channels_));
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (arguments.training && layer_.uses_batch_statistics()) {
      MeasureBatch(context_, rows_, channels_, arguments.inputs[0], mean_.data(), variance_.data());
    } else {
      CopyStatistics(arguments.variables[layer_.moving_mean()],
                     arguments.variables[layer_.moving_variance()], mean_.data(), variance_.data());
    }
    Normalize(context_, rows_, channels_, layer_.epsilon(), arguments.inputs[0], mean_.data(),
              variance_.data(), VariableOf(arguments.variables, layer_.gamma()),
              VariableOf(arguments.variables, layer_.beta()), scales_.data(), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (layer_.trainable()) {
      const absl::Span<float* const> gradients = arguments.variable_gradients;
      // They are null if the variables are not trained (Executor::Options::trained). Those of the
      // statistics are not null in a call without batch statistics, if another call has them.
      const VariableGradients variables = {.gamma = VariableOf(gradients, layer_.gamma()),
                                           .beta = VariableOf(gradients, layer_.beta()),
                                           .mean = gradients[layer_.moving_mean()],
                                           .variance = gradients[layer_.moving_variance()],
                                           .statistic_weight = arguments.statistic_weight};
      SumGradients(context_, rows_, channels_, layer_.epsilon(), arguments.inputs[0], mean_.data(),
                   variance_.data(), arguments.output_gradient, means_.data(), variables);
    }
    if (arguments.input_gradients[0] == nullptr) return;
    InputGradient(context_, rows_, channels_, arguments.inputs[0], mean_.data(), scales_.data(),
                  layer_.uses_batch_statistics() ? means_.data() : nullptr,
                  arguments.output_gradient, arguments.input_gradients[0]);
  }

 private:
  template <typename T>
  static T* VariableOf(absl::Span<T* const> variables, int index) {
    return index < 0 ? nullptr : variables[index];
  }

  void CopyStatistics(const float* mean, const float* variance, float* to_mean,
                      float* to_variance) {
    context_->Copy(to_mean, mean, channels_ * sizeof(float));
    context_->Copy(to_variance, variance, channels_ * sizeof(float));
  }

  Context* const context_;
  const BatchNormalizationLayer& layer_;
  const int64_t channels_;
  const int64_t rows_;
  // Those that the last Forward used.
  DeviceArray<float> mean_;
  DeviceArray<float> variance_;
  // Gamma divided by the standard deviation, of the last Forward.
  DeviceArray<float> scales_;
  // Scratch: two means for each channel.
  DeviceArray<float> means_;
};

}  // namespace

std::unique_ptr<Kernel> CreateBatchNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context) {
  return std::make_unique<BatchNormalizationKernel>(
      static_cast<const BatchNormalizationLayer&>(layer), context);
}

}  // namespace cairn::nn::cuda

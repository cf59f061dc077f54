#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "nn/cpu/channel_loops.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/parallel.h"
#include "nn/layers/batch_normalization.h"

namespace cairn::nn {
namespace {

constexpr float kNoBound = std::numeric_limits<float>::quiet_NaN();

// Adds the sums of all pieces of rows, in order. `parts` has pieces x channels sums.
void AddParts(int64_t pieces, int64_t channels, const double* parts, double* sums) {
  std::copy_n(parts, channels, sums);
  for (int64_t piece = 1; piece < pieces; ++piece) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += parts[piece * channels + c];
  }
}

// Batch normalization, fused with a following ReLU if the options name one. Fusion saves the ReLU's
// backward pass, and the tensor between the two layers is never stored.
class BatchNormalizationKernel : public Kernel {
 public:
  BatchNormalizationKernel(const BatchNormalizationLayer& layer, const KernelContext& context)
      : layer_(layer),
        channels_(layer.output().shape.back()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / channels_),
        pieces_(rows_, channels_),
        mean_(channels_),
        variance_(channels_),
        inverse_deviation_(channels_),
        scale_(channels_),
        shift_(channels_),
        a_(channels_),
        b_(channels_),
        c_(channels_),
        sums_(channels_),
        products_(channels_),
        part_sums_(pieces_.count * channels_),
        part_products_(pieces_.count * channels_),
        parts_(pieces_.count),
        part_scratch_(2 * pieces_.count * channels_) {
    for (int64_t piece = 0; piece < pieces_.count; ++piece) {
      parts_[piece].means = part_sums_.data() + piece * channels_;
      parts_[piece].squares = part_products_.data() + piece * channels_;
    }
    map_ = {.scale = scale_.data(), .shift = shift_.data(), .low = kNoBound, .top = kNoBound};
    if (context.options.next == nullptr) return;
    const Activation relu = context.options.next->activation();
    map_.low = 0;
    if (relu.has_max_value) map_.top = relu.max_value;
  }

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* const x = arguments.inputs[0];
    if (arguments.training && layer_.uses_batch_statistics()) {
      MeasureBatch(x);
    } else {
      std::copy_n(arguments.variables[layer_.moving_mean()], channels_, mean_.data());
      std::copy_n(arguments.variables[layer_.moving_variance()], channels_, variance_.data());
    }
    for (int64_t c = 0; c < channels_; ++c) {
      // Normalization, gamma and beta are one affine map per channel: y = x * scale + shift.
      inverse_deviation_[c] =
          static_cast<float>(1 / std::sqrt(static_cast<double>(variance_[c]) + layer_.epsilon()));
      scale_[c] = inverse_deviation_[c] * Gamma(arguments.variables, c);
      const float beta = layer_.beta() < 0 ? 0 : arguments.variables[layer_.beta()][c];
      shift_[c] = beta - mean_[c] * scale_[c];
    }
    pieces_.Run([&](int64_t begin, int64_t end) {
      MapChannels(end - begin, channels_, x + begin * channels_, map_,
                  arguments.output + begin * channels_);
    });
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    // Sums come first: with batch statistics the input gradient depends on sums over the whole
    // batch. It is written last, because it may overwrite the output gradient.
    if (layer_.trainable()) {
      SumGradients(arguments.inputs[0], arguments.output_gradient);
      // Null: the variables are not trained in this pass (Executor::Options::trained).
      const bool writes =
          !arguments.variable_gradients.empty() && arguments.variable_gradients[0] != nullptr;
      if (writes) WriteVariableGradients(arguments);
    }
    if (arguments.input_gradients[0] == nullptr) return;
    ComputeMix(arguments.variables);
    const ChannelMix mix = {.a = a_.data(), .b = b_.data(), .c = c_.data()};
    pieces_.Run([&](int64_t begin, int64_t end) {
      const int64_t first = begin * channels_;
      MixMapGradients(end - begin, channels_, arguments.inputs[0] + first, map_, mix,
                      arguments.output_gradient + first, arguments.input_gradients[0] + first);
    });
  }

 private:
  float Gamma(absl::Span<const float* const> variables, int64_t c) const {
    return layer_.gamma() < 0 ? 1 : variables[layer_.gamma()][c];
  }

  float* Scratch(int64_t piece) { return part_scratch_.data() + 2 * piece * channels_; }

  void MeasureBatch(const float* x) {
    RunInParallel(pieces_.count, [&](int64_t piece) {
      const int64_t begin = pieces_.begin(piece);
      MeasureChannels(pieces_.end(piece) - begin, channels_, x + begin * channels_, Scratch(piece),
                      &parts_[piece]);
    });
    for (int64_t piece = 1; piece < pieces_.count; ++piece) {
      AddMoments(channels_, parts_[piece], &parts_[0]);
    }
    for (int64_t c = 0; c < channels_; ++c) {
      mean_[c] = static_cast<float>(part_sums_[c]);
      variance_[c] = static_cast<float>(part_products_[c] / static_cast<double>(rows_));
    }
  }

  // Computes sum(g) and sum(g (x - mean)), from which the gradients of beta, gamma and the input
  // follow.
  void SumGradients(const float* x, const float* gradient) {
    RunInParallel(pieces_.count, [&](int64_t piece) {
      const int64_t begin = pieces_.begin(piece);
      const int64_t first = begin * channels_;
      SumMapGradients(pieces_.end(piece) - begin, channels_, x + first, map_, mean_.data(),
                      gradient + first, Scratch(piece), part_sums_.data() + piece * channels_,
                      part_products_.data() + piece * channels_);
    });
    AddParts(pieces_.count, channels_, part_sums_.data(), sums_.data());
    AddParts(pieces_.count, channels_, part_products_.data(), products_.data());
  }

  void WriteVariableGradients(const BackwardArguments& arguments) const {
    const absl::Span<float* const> gradients = arguments.variable_gradients;
    for (int64_t c = 0; c < channels_; ++c) {
      if (layer_.gamma() >= 0) {
        gradients[layer_.gamma()][c] = static_cast<float>(products_[c] * inverse_deviation_[c]);
      }
      if (layer_.beta() >= 0) gradients[layer_.beta()][c] = static_cast<float>(sums_[c]);
      // Not null in a call without batch statistics, if another call of the layer has them.
      if (gradients[layer_.moving_mean()] == nullptr) continue;
      gradients[layer_.moving_mean()][c] = arguments.statistic_weight * mean_[c];
      gradients[layer_.moving_variance()][c] = arguments.statistic_weight * variance_[c];
    }
  }

  // Computes the coefficients of dx = a g + b x + c. With d = x - mean, i = 1 / standard deviation
  // and n rows:
  //   dx = gamma i (g - sum(g) / n - d i^2 sum(g d) / n)
  // With moving statistics, which do not depend on x: dx = gamma i g.
  void ComputeMix(absl::Span<const float* const> variables) {
    for (int64_t c = 0; c < channels_; ++c) {
      const double i = inverse_deviation_[c];
      const double scale = Gamma(variables, c) * i;
      const bool moves = layer_.uses_batch_statistics();
      const double slope = moves ? -scale * i * i * products_[c] / static_cast<double>(rows_) : 0;
      const double mean = moves ? scale * sums_[c] / static_cast<double>(rows_) : 0;
      a_[c] = static_cast<float>(scale);
      b_[c] = static_cast<float>(slope);
      c_[c] = static_cast<float>(-mean - slope * mean_[c]);
    }
  }

  const BatchNormalizationLayer& layer_;
  const int64_t channels_;
  const int64_t rows_;
  const RowPieces pieces_;
  // State of the last Forward.
  std::vector<float> mean_;
  std::vector<float> variance_;
  std::vector<float> inverse_deviation_;
  std::vector<float> scale_;
  std::vector<float> shift_;
  ChannelMap map_;
  // Scratch.
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> c_;
  std::vector<double> sums_;
  std::vector<double> products_;
  std::vector<double> part_sums_;
  std::vector<double> part_products_;
  std::vector<ChannelMoments> parts_;
  std::vector<float> part_scratch_;
};

}  // namespace

std::unique_ptr<Kernel> CreateBatchNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context) {
  return std::make_unique<BatchNormalizationKernel>(
      static_cast<const BatchNormalizationLayer&>(layer), context);
}

}  // namespace cairn::nn

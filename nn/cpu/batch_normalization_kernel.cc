#include "nn/cpu/batch_normalization_kernel.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "common/simd.h"
#include "nn/layers/batch_normalization.h"

namespace cairn::nn {
namespace {

// x and y are rows x channels; the others are one number per channel. Sums are in double: there
// may be millions of rows.

CAIRN_SIMD void SumRows(int64_t rows, int64_t channels, const float* x, double* sums) {
  std::fill(sums, sums + channels, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < channels; ++c) sums[c] += x[row * channels + c];
  }
}

CAIRN_SIMD void SumSquaredDeviations(int64_t rows, int64_t channels, const float* x,
                                     const float* mean, double* sums) {
  std::fill(sums, sums + channels, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      const float deviation = x[row * channels + c] - mean[c];
      sums[c] += static_cast<double>(deviation * deviation);
    }
  }
}

CAIRN_SIMD void ScaleAndShift(int64_t rows, int64_t channels, const float* x, const float* scale,
                              const float* shift, float* y) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      y[row * channels + c] = x[row * channels + c] * scale[c] + shift[c];
    }
  }
}

// What gamma's and beta's gradients are: sums of g * (x - mean) and of g.
CAIRN_SIMD void SumGradients(int64_t rows, int64_t channels, const float* x, const float* mean,
                             const float* g, double* products, double* sums) {
  std::fill(products, products + channels, 0.0);
  std::fill(sums, sums + channels, 0.0);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t i = row * channels + c;
      sums[c] += g[i];
      products[c] += static_cast<double>(g[i] * (x[i] - mean[c]));
    }
  }
}

// out = a * g + b * x + c, per channel.
CAIRN_SIMD void Combine(int64_t rows, int64_t channels, const float* g, const float* x,
                        const float* a, const float* b, const float* offset, float* out) {
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t i = row * channels + c;
      out[i] = a[c] * g[i] + b[c] * x[i] + offset[c];
    }
  }
}

class BatchNormalizationKernel : public Kernel {
 public:
  BatchNormalizationKernel(const BatchNormalizationLayer& layer, const KernelContext& context)
      : layer_(layer),
        channels_(layer.output().shape.back()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / channels_),
        mean_(channels_),
        variance_(channels_),
        inverse_deviation_(channels_),
        a_(channels_),
        b_(channels_),
        c_(channels_),
        sums_(channels_),
        products_(channels_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    if (arguments.training && layer_.uses_batch_statistics()) {
      MeasureBatch(arguments.inputs[0]);
    } else {
      std::copy_n(arguments.variables[layer_.moving_mean()], channels_, mean_.data());
      std::copy_n(arguments.variables[layer_.moving_variance()], channels_, variance_.data());
    }
    for (int64_t c = 0; c < channels_; ++c) {
      inverse_deviation_[c] =
          static_cast<float>(1 / std::sqrt(static_cast<double>(variance_[c]) + layer_.epsilon()));
      a_[c] = inverse_deviation_[c] * Gamma(arguments.variables, c);
      const float beta = layer_.beta() < 0 ? 0 : arguments.variables[layer_.beta()][c];
      b_[c] = beta - mean_[c] * a_[c];
    }
    ScaleAndShift(rows_, channels_, arguments.inputs[0], a_.data(), b_.data(), arguments.output);
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    if (!layer_.trainable()) return BackwardFixed(arguments);
    SumGradients(rows_, channels_, arguments.inputs[0], mean_.data(), arguments.output_gradient,
                 products_.data(), sums_.data());
    WriteVariableGradients(arguments.variable_gradients);
    if (!layer_.uses_batch_statistics()) return BackwardFixed(arguments);
    if (arguments.input_gradients[0] == nullptr) return;
    // With d = x - mean, i = 1 / deviation, n rows:
    // dx = gamma i (g - sum(g) / n - d i^2 sum(g d) / n)
    for (int64_t c = 0; c < channels_; ++c) {
      const double i = inverse_deviation_[c];
      const double scale = Gamma(arguments.variables, c) * i;
      const double slope = -scale * i * i * products_[c] / static_cast<double>(rows_);
      a_[c] = static_cast<float>(scale);
      b_[c] = static_cast<float>(slope);
      c_[c] = static_cast<float>(-scale * sums_[c] / static_cast<double>(rows_) - slope * mean_[c]);
    }
    Combine(rows_, channels_, arguments.output_gradient, arguments.inputs[0], a_.data(), b_.data(),
            c_.data(), arguments.input_gradients[0]);
  }

 private:
  float Gamma(absl::Span<const float* const> variables, int64_t c) const {
    return layer_.gamma() < 0 ? 1 : variables[layer_.gamma()][c];
  }

  void MeasureBatch(const float* x) {
    SumRows(rows_, channels_, x, sums_.data());
    for (int64_t c = 0; c < channels_; ++c) mean_[c] = static_cast<float>(sums_[c] / rows_);
    SumSquaredDeviations(rows_, channels_, x, mean_.data(), sums_.data());
    for (int64_t c = 0; c < channels_; ++c) variance_[c] = static_cast<float>(sums_[c] / rows_);
  }

  void WriteVariableGradients(absl::Span<float* const> gradients) const {
    for (int64_t c = 0; c < channels_; ++c) {
      if (layer_.gamma() >= 0) {
        gradients[layer_.gamma()][c] = static_cast<float>(products_[c] * inverse_deviation_[c]);
      }
      if (layer_.beta() >= 0) gradients[layer_.beta()][c] = static_cast<float>(sums_[c]);
      if (!layer_.uses_batch_statistics()) continue;
      gradients[layer_.moving_mean()][c] = mean_[c];
      gradients[layer_.moving_variance()][c] = variance_[c];
    }
  }

  // Mean and variance did not come from the batch: a fixed scale per channel, which Forward left in
  // a_.
  void BackwardFixed(const BackwardArguments& arguments) {
    if (arguments.input_gradients[0] == nullptr) return;
    std::fill(c_.begin(), c_.end(), 0.0f);
    ScaleAndShift(rows_, channels_, arguments.output_gradient, a_.data(), c_.data(),
                  arguments.input_gradients[0]);
  }

  const BatchNormalizationLayer& layer_;
  const int64_t channels_;
  const int64_t rows_;
  // The last Forward's.
  std::vector<float> mean_;
  std::vector<float> variance_;
  std::vector<float> inverse_deviation_;
  // Scratch.
  std::vector<float> a_;
  std::vector<float> b_;
  std::vector<float> c_;
  std::vector<double> sums_;
  std::vector<double> products_;
};

}  // namespace

std::unique_ptr<Kernel> CreateBatchNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context) {
  return std::make_unique<BatchNormalizationKernel>(
      static_cast<const BatchNormalizationLayer&>(layer), context);
}

}  // namespace cairn::nn

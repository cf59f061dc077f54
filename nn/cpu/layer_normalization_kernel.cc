#include <cmath>
#include <vector>

#include "common/simd.h"
#include "nn/cpu/kernels.h"
#include "nn/layers/layer_normalization.h"

namespace cairn::nn {
namespace {

// Normalizes one row: y = (x - mean) * inverse * gamma + beta. A null gamma means 1, a null beta 0.
CAIRN_SIMD void NormalizeRow(int64_t width, const float* x, float mean, float inverse,
                             const float* gamma, const float* beta, float* y) {
  for (int64_t i = 0; i < width; ++i) y[i] = (x[i] - mean) * inverse;
  for (int64_t i = 0; gamma != nullptr && i < width; ++i) y[i] *= gamma[i];
  for (int64_t i = 0; beta != nullptr && i < width; ++i) y[i] += beta[i];
}

CAIRN_SIMD double SumRow(int64_t width, const float* x) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) sum += x[i];
  return sum;
}

CAIRN_SIMD double SumSquaredDeviations(int64_t width, const float* x, float mean) {
  double sum = 0;
  for (int64_t i = 0; i < width; ++i) {
    const double deviation = x[i] - mean;
    sum += deviation * deviation;
  }
  return sum;
}

class LayerNormalizationKernel : public Kernel {
 public:
  LayerNormalizationKernel(const LayerNormalizationLayer& layer, const KernelContext& context)
      : layer_(layer),
        width_(layer.width()),
        rows_(context.options.examples * ElementCount(layer.output().shape) / width_),
        means_(rows_),
        inverses_(rows_),
        gamma_gradient_(width_),
        beta_gradient_(width_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* gamma = layer_.gamma() < 0 ? nullptr : arguments.variables[layer_.gamma()];
    const float* beta = layer_.beta() < 0 ? nullptr : arguments.variables[layer_.beta()];
    for (int64_t row = 0; row < rows_; ++row) {
      const float* x = arguments.inputs[0] + row * width_;
      means_[row] = static_cast<float>(SumRow(width_, x) / static_cast<double>(width_));
      const double variance =
          SumSquaredDeviations(width_, x, means_[row]) / static_cast<double>(width_);
      inverses_[row] = static_cast<float>(1 / std::sqrt(variance + layer_.epsilon()));
      NormalizeRow(width_, x, means_[row], inverses_[row], gamma, beta,
                   arguments.output + row * width_);
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    gamma_gradient_.assign(width_, 0);
    beta_gradient_.assign(width_, 0);
    for (int64_t row = 0; row < rows_; ++row) BackwardRow(arguments, row);
    StoreGradient(layer_.gamma(), gamma_gradient_, arguments.variable_gradients);
    StoreGradient(layer_.beta(), beta_gradient_, arguments.variable_gradients);
  }

 private:
  // The gradients of one row. With n = (x - mean) / deviation and h = g gamma:
  //   dx = (h - mean(h) - n mean(h n)) / deviation
  void BackwardRow(const BackwardArguments& arguments, int64_t row) {
    const float* x = arguments.inputs[0] + row * width_;
    const float* g = arguments.output_gradient + row * width_;
    const float* gamma = layer_.gamma() < 0 ? nullptr : arguments.variables[layer_.gamma()];
    double sum = 0;
    double product = 0;
    for (int64_t i = 0; i < width_; ++i) {
      const double n = (x[i] - means_[row]) * inverses_[row];
      const double h = gamma == nullptr ? g[i] : g[i] * gamma[i];
      gamma_gradient_[i] += g[i] * n;
      beta_gradient_[i] += g[i];
      sum += h;
      product += h * n;
    }
    if (arguments.input_gradients[0] == nullptr) return;
    float* dx = arguments.input_gradients[0] + row * width_;
    sum /= static_cast<double>(width_);
    product /= static_cast<double>(width_);
    for (int64_t i = 0; i < width_; ++i) {
      const double n = (x[i] - means_[row]) * inverses_[row];
      const double h = gamma == nullptr ? g[i] : g[i] * gamma[i];
      dx[i] = static_cast<float>((h - sum - n * product) * inverses_[row]);
    }
  }

  static void StoreGradient(int variable, const std::vector<double>& sums,
                            absl::Span<float* const> gradients) {
    if (variable < 0 || gradients[variable] == nullptr) return;
    for (size_t i = 0; i < sums.size(); ++i) gradients[variable][i] = static_cast<float>(sums[i]);
  }

  const LayerNormalizationLayer& layer_;
  const int64_t width_;
  const int64_t rows_;
  // State of the last Forward, by row: the mean and 1 / deviation.
  std::vector<float> means_;
  std::vector<float> inverses_;
  // Scratch.
  std::vector<double> gamma_gradient_;
  std::vector<double> beta_gradient_;
};

}  // namespace

std::unique_ptr<Kernel> CreateLayerNormalizationKernel(const Layer& layer,
                                                       const KernelContext& context) {
  return std::make_unique<LayerNormalizationKernel>(
      static_cast<const LayerNormalizationLayer&>(layer), context);
}

}  // namespace cairn::nn

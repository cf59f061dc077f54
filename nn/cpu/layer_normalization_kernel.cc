#include <algorithm>
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
        groups_(layer.groups()),
        positions_(layer.positions()),
        count_(static_cast<double>(positions_ * width_)),
        sets_(context.options.examples * ElementCount(layer.output().shape) /
              (positions_ * width_)),
        means_(sets_),
        inverses_(sets_),
        gamma_gradient_(groups_ * width_),
        beta_gradient_(groups_ * width_) {}

  absl::Status Forward(const ForwardArguments& arguments) override {
    const float* gamma = layer_.gamma() < 0 ? nullptr : arguments.variables[layer_.gamma()];
    const float* beta = layer_.beta() < 0 ? nullptr : arguments.variables[layer_.beta()];
    for (int64_t set = 0; set < sets_; ++set) {
      const int64_t channel = set % groups_ * width_;
      const float* x = arguments.inputs[0] + FirstOf(set);
      float* y = arguments.output + FirstOf(set);
      double sum = 0;
      if (layer_.kind() == Kind::kMoments) {
        for (int64_t p = 0; p < positions_; ++p) sum += SumRow(width_, x + p * Stride());
      }
      means_[set] = static_cast<float>(sum / count_);
      double squares = 0;
      for (int64_t p = 0; p < positions_; ++p) {
        squares += SumSquaredDeviations(width_, x + p * Stride(), means_[set]);
      }
      inverses_[set] = static_cast<float>(1 / std::sqrt(layer_.kind() == Kind::kUnit
                                                            ? std::max(squares, layer_.epsilon())
                                                            : squares / count_ + layer_.epsilon()));
      for (int64_t p = 0; p < positions_; ++p) {
        NormalizeRow(width_, x + p * Stride(), means_[set], inverses_[set],
                     gamma == nullptr ? nullptr : gamma + channel,
                     beta == nullptr ? nullptr : beta + channel, y + p * Stride());
      }
    }
    return absl::OkStatus();
  }

  void Backward(const BackwardArguments& arguments) override {
    gamma_gradient_.assign(gamma_gradient_.size(), 0);
    beta_gradient_.assign(beta_gradient_.size(), 0);
    for (int64_t set = 0; set < sets_; ++set) BackwardSet(arguments, set);
    StoreGradient(layer_.gamma(), gamma_gradient_, arguments.variable_gradients);
    StoreGradient(layer_.beta(), beta_gradient_, arguments.variable_gradients);
  }

 private:
  using Kind = LayerNormalizationLayer::Kind;

  // The distance of a set's positions in memory.
  int64_t Stride() const { return groups_ * width_; }
  // The index of a set's first element.
  int64_t FirstOf(int64_t set) const {
    return set / groups_ * positions_ * Stride() + set % groups_ * width_;
  }

  // The gradients of one set. With n = (x - mean) / deviation and h = g gamma:
  //   dx = (h - mean(h) - n mean(h n)) / deviation
  // Without a mean of x the term mean(h) is absent. For a unit norm n has the norm 1, so that the
  // last mean is a sum.
  void BackwardSet(const BackwardArguments& arguments, int64_t set) {
    const int64_t channel = set % groups_ * width_;
    const float* x = arguments.inputs[0] + FirstOf(set);
    const float* g = arguments.output_gradient + FirstOf(set);
    const float* gamma =
        layer_.gamma() < 0 ? nullptr : arguments.variables[layer_.gamma()] + channel;
    double sum = 0;
    double product = 0;
    for (int64_t p = 0; p < positions_; ++p) {
      for (int64_t i = 0; i < width_; ++i) {
        const int64_t at = p * Stride() + i;
        const double n = (x[at] - means_[set]) * inverses_[set];
        const double h = gamma == nullptr ? g[at] : g[at] * gamma[i];
        gamma_gradient_[channel + i] += g[at] * n;
        beta_gradient_[channel + i] += g[at];
        sum += h;
        product += h * n;
      }
    }
    if (arguments.input_gradients[0] == nullptr) return;
    float* dx = arguments.input_gradients[0] + FirstOf(set);
    sum = layer_.kind() == Kind::kMoments ? sum / count_ : 0;
    if (layer_.kind() != Kind::kUnit) product /= count_;
    // A norm below the smallest one is a constant divisor.
    const bool is_constant = layer_.kind() == Kind::kUnit &&
                             inverses_[set] >= static_cast<float>(1 / std::sqrt(layer_.epsilon()));
    if (is_constant) product = 0;
    for (int64_t p = 0; p < positions_; ++p) {
      for (int64_t i = 0; i < width_; ++i) {
        const int64_t at = p * Stride() + i;
        const double n = (x[at] - means_[set]) * inverses_[set];
        const double h = gamma == nullptr ? g[at] : g[at] * gamma[i];
        dx[at] = static_cast<float>((h - sum - n * product) * inverses_[set]);
      }
    }
  }

  static void StoreGradient(int variable, const std::vector<double>& sums,
                            absl::Span<float* const> gradients) {
    if (variable < 0 || gradients[variable] == nullptr) return;
    for (size_t i = 0; i < sums.size(); ++i) gradients[variable][i] = static_cast<float>(sums[i]);
  }

  const LayerNormalizationLayer& layer_;
  const int64_t width_;
  const int64_t groups_;
  const int64_t positions_;
  // The number of elements in a set, which are normalized together.
  const double count_;
  const int64_t sets_;
  // State of the last Forward, by set: the mean (or 0) and 1 / deviation.
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

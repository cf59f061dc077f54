#include "nn/losses/similarity.h"

#include <algorithm>
#include <cmath>

#include "nn/losses/row_loss.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

constexpr float kEpsilon = 1e-7f;

struct KlDistance {
  KlDistance For(const Loss::Batch&, int64_t) const { return *this; }

  double operator()(const float* output, const float* label, int64_t count, float factor,
                    float* gradient) const {
    double sum = 0;
    for (int64_t c = 0; c < count; ++c) {
      const float y = std::clamp(label[c], kEpsilon, 1.0f);
      const float p = std::clamp(output[c], kEpsilon, 1.0f);
      sum += y * std::log(static_cast<double>(y) / p);
      const bool clipped = output[c] < kEpsilon || output[c] > 1;
      if (gradient != nullptr) gradient[c] = clipped ? 0 : -factor * y / p;
    }
    return sum;
  }
};

struct CosineDistance {
  CosineDistance For(const Loss::Batch&, int64_t) const { return *this; }

  double operator()(const float* output, const float* label, int64_t count, float factor,
                    float* gradient) const {
    double product = 0, output_square = 0, label_square = 0;
    for (int64_t c = 0; c < count; ++c) {
      product += static_cast<double>(label[c]) * output[c];
      output_square += static_cast<double>(output[c]) * output[c];
      label_square += static_cast<double>(label[c]) * label[c];
    }
    const double output_norm = std::sqrt(output_square);
    const double norms = std::max<double>(output_norm, kEpsilon) *
                         std::max<double>(std::sqrt(label_square), kEpsilon);
    const double cosine = product / norms;
    if (gradient == nullptr) return -cosine;
    // A norm below e is replaced by the constant e, which has no derivative.
    const double pull = output_norm > kEpsilon ? cosine / output_square : 0;
    for (int64_t c = 0; c < count; ++c) {
      gradient[c] = static_cast<float>(-factor * (label[c] / norms - pull * output[c]));
    }
    return -cosine;
  }
};

}  // namespace

std::unique_ptr<Loss> CreateKlDivergence(const proto::Loss&) {
  return std::make_unique<RowLoss<KlDistance>>("kl_divergence", KlDistance());
}

std::unique_ptr<Loss> CreateCosineSimilarity(const proto::Loss&) {
  return std::make_unique<RowLoss<CosineDistance>>("cosine_similarity", CosineDistance());
}

}  // namespace cairn::nn

#include "nn/losses/similarity.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nn/losses/row_loss.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

constexpr float kEpsilon = 1e-7f;

struct KlDistance {
  KlDistance For(const Loss::Batch&, int64_t) const { return *this; }
  LossSpec spec() const { return {.kind = LossSpec::Kind::kKlDivergence}; }

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
  LossSpec spec() const { return {.kind = LossSpec::Kind::kCosineSimilarity}; }

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

class CircleLoss final : public Loss {
 public:
  CircleLoss(double gamma, double margin)
      : Loss("circle", proto::INT32), gamma_(gamma), margin_(margin) {}

  absl::Status ValidateOutput(const Shape& output) const override {
    if (output.size() == 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "loss circle needs one vector for each example, the model's output is of shape ",
        ShapeText(output)));
  }
  absl::Status ValidateShapes(const Shape& output, const Shape& labels) const override {
    if (absl::Status status = ValidateOutput(output); !status.ok()) return status;
    return WithoutLastOne(labels).empty() ? absl::OkStatus()
                                          : LabelShapeError(name(), output, labels, {});
  }
  int64_t LabelCount(const Shape&) const override { return 1; }

  absl::StatusOr<double> Compute(const Batch& batch, float* gradient) const override {
    const int64_t n = batch.examples;
    const int64_t width = batch.shape->back();
    const int32_t* labels = static_cast<const int32_t*>(batch.labels);
    std::vector<double> distances(n), pulls(n);
    std::vector<double> sums(gradient == nullptr ? 0 : n * width);
    double sum = 0;
    int64_t counted = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float* own = batch.output + i * width;
      for (int64_t j = 0; j < n; ++j) {
        double product = 0;
        for (int64_t c = 0; c < width; ++c) {
          product += static_cast<double>(own[c]) * batch.output[j * width + c];
        }
        distances[j] = std::max(1 - product, 0.0);
      }
      const double loss = LossOf(i, n, labels, distances, &pulls);
      if (loss <= 0) continue;
      ++counted;
      sum += batch.weight(i) * loss;
      if (gradient == nullptr) continue;
      // The derivative of 1 - product reaches both outputs.
      for (int64_t j = 0; j < n; ++j) {
        if (distances[j] <= 0 || pulls[j] == 0) continue;
        const double pull = batch.weight(i) * pulls[j];
        for (int64_t c = 0; c < width; ++c) {
          sums[i * width + c] -= pull * batch.output[j * width + c];
          sums[j * width + c] -= pull * own[c];
        }
      }
    }
    const double share = counted == 0 ? 0 : static_cast<double>(n) / static_cast<double>(counted);
    const double factor = GradientFactor(batch, 1) * share;
    for (size_t i = 0; i < sums.size(); ++i) gradient[i] = static_cast<float>(factor * sums[i]);
    return sum * share;
  }

 private:
  // The loss of example i, and its derivative with respect to each distance.
  double LossOf(int64_t i, int64_t n, const int32_t* labels, const std::vector<double>& distances,
                std::vector<double>* derivatives) const {
    // Logarithms of sums of exponentials: of the example's class [1], and of others [0].
    double largest[2] = {-HUGE_VAL, -HUGE_VAL};
    for (int64_t j = 0; j < n; ++j) {
      if (j == i) continue;
      const bool same = labels[j] == labels[i];
      largest[same] = std::max(largest[same], Exponent(same, distances[j]));
    }
    if (std::isinf(largest[0]) || std::isinf(largest[1])) return 0;
    double sums[2] = {0, 0};
    for (int64_t j = 0; j < n; ++j) {
      const bool same = labels[j] == labels[i];
      if (j != i) sums[same] += std::exp(Exponent(same, distances[j]) - largest[same]);
    }
    const double x = largest[0] + std::log(sums[0]) + largest[1] + std::log(sums[1]);
    const double slope = 1 / (1 + std::exp(-x));
    for (int64_t j = 0; j < n; ++j) {
      const bool same = labels[j] == labels[i];
      const double share = std::exp(Exponent(same, distances[j]) - largest[same]) / sums[same];
      (*derivatives)[j] = j == i ? 0 : slope * share * ExponentSlope(same, distances[j]);
    }
    return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  }

  double Exponent(bool same, double d) const {
    return same ? -gamma_ * (margin_ + d) * (margin_ - d)
                : gamma_ * std::max(1 + margin_ - d, 0.0) * (1 - margin_ - d);
  }
  double ExponentSlope(bool same, double d) const {
    if (same) return 2 * gamma_ * d;
    return 1 + margin_ - d > 0 ? -2 * gamma_ * (1 - d) : 0;
  }

  const double gamma_;
  const double margin_;
};

}  // namespace

std::unique_ptr<Loss> CreateCircle(const proto::Loss& config) {
  return std::make_unique<CircleLoss>(config.has_gamma() ? config.gamma() : 80,
                                      config.has_margin() ? config.margin() : 0.4);
}

std::unique_ptr<Loss> CreateKlDivergence(const proto::Loss&) {
  return std::make_unique<RowLoss<KlDistance>>("kl_divergence", KlDistance());
}

std::unique_ptr<Loss> CreateCosineSimilarity(const proto::Loss&) {
  return std::make_unique<RowLoss<CosineDistance>>("cosine_similarity", CosineDistance());
}

}  // namespace cairn::nn

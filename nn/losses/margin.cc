#include "nn/losses/margin.h"

#include <algorithm>

#include "nn/losses/elementwise_loss.h"
#include "nn/losses/row_loss.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

template <bool squared>
struct HingeDistance {
  bool zeros_are_negative = false;

  HingeDistance For(const Loss::Batch& batch, int64_t elements) const {
    const float* labels = static_cast<const float*>(batch.labels);
    return {std::all_of(labels, labels + elements,
                        [](float label) { return label == 0 || label == 1; })};
  }
  LossSpec spec() const {
    return {.kind = squared ? LossSpec::Kind::kSquaredHinge : LossSpec::Kind::kHinge};
  }

  double operator()(float output, float label, float* derivative) const {
    const float side = zeros_are_negative ? 2 * label - 1 : label;
    const float margin = 1 - side * output;
    if (margin <= 0) return 0;
    *derivative = squared ? -2 * side * margin : -side;
    return squared ? static_cast<double>(margin) * margin : margin;
  }
};

struct CategoricalHingeDistance {
  CategoricalHingeDistance For(const Loss::Batch&, int64_t) const { return *this; }
  LossSpec spec() const { return {.kind = LossSpec::Kind::kCategoricalHinge}; }

  double operator()(const float* output, const float* label, int64_t count, float factor,
                    float* gradient) const {
    double right = 0;
    int64_t wrong = 0;  // The class with the largest (1 - y) p.
    const auto wrongness = [&](int64_t c) { return (1 - label[c]) * output[c]; };
    for (int64_t c = 0; c < count; ++c) {
      right += static_cast<double>(label[c]) * output[c];
      if (wrongness(c) > wrongness(wrong)) wrong = c;
    }
    const double margin = wrongness(wrong) - right + 1;
    if (gradient != nullptr) {
      for (int64_t c = 0; c < count; ++c) gradient[c] = margin > 0 ? -factor * label[c] : 0;
      if (margin > 0) gradient[wrong] += factor * (1 - label[wrong]);
    }
    return std::max(margin, 0.0);
  }
};

struct WassersteinDistance {
  WassersteinDistance For(const Loss::Batch&, int64_t) const { return *this; }
  LossSpec spec() const { return {.kind = LossSpec::Kind::kWasserstein}; }

  double operator()(float output, float label, float* derivative) const {
    *derivative = label;
    return static_cast<double>(label) * output;
  }
};

}  // namespace

std::unique_ptr<Loss> CreateHinge(const proto::Loss&) {
  return std::make_unique<ElementwiseLoss<HingeDistance<false>>>("hinge", HingeDistance<false>());
}

std::unique_ptr<Loss> CreateSquaredHinge(const proto::Loss&) {
  return std::make_unique<ElementwiseLoss<HingeDistance<true>>>("squared_hinge",
                                                                HingeDistance<true>());
}

std::unique_ptr<Loss> CreateCategoricalHinge(const proto::Loss&) {
  return std::make_unique<RowLoss<CategoricalHingeDistance>>("categorical_hinge",
                                                             CategoricalHingeDistance());
}

std::unique_ptr<Loss> CreateWasserstein(const proto::Loss&) {
  return std::make_unique<ElementwiseLoss<WassersteinDistance>>("wasserstein",
                                                                WassersteinDistance());
}

}  // namespace cairn::nn

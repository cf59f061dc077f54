#include "nn/optimizers/sgd.h"

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void Descend(const OptimizerRule::Chunk& chunk, float rate) {
  UpdateElements<0>(chunk,
                    [rate](float value, float g) CAIRN_ALWAYS_INLINE { return value - rate * g; });
}

CAIRN_SIMD void DescendWithMomentum(const OptimizerRule::Chunk& chunk, float rate, float m) {
  UpdateElements<1>(chunk, [rate, m](float value, float g, float& momentum) CAIRN_ALWAYS_INLINE {
    momentum = m * momentum - rate * g;
    return value + momentum;
  });
}

CAIRN_SIMD void DescendWithNesterov(const OptimizerRule::Chunk& chunk, float rate, float m) {
  UpdateElements<1>(chunk, [rate, m](float value, float g, float& momentum) CAIRN_ALWAYS_INLINE {
    momentum = m * momentum - rate * g;
    return value + (m * momentum - rate * g);
  });
}

class Sgd final : public OptimizerRule {
 public:
  Sgd(float momentum, bool nesterov) : momentum_(momentum), nesterov_(nesterov) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum"};
    return absl::MakeConstSpan(kNames, momentum_ > 0 ? 1 : 0);
  }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    if (momentum_ == 0) {
      Descend(chunk, rate);
    } else if (nesterov_) {
      DescendWithNesterov(chunk, rate, momentum_);
    } else {
      DescendWithMomentum(chunk, rate, momentum_);
    }
  }

 private:
  const float momentum_;
  const bool nesterov_;
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateSgd(const proto::Optimizer& config) {
  return std::make_unique<Sgd>(config.momentum(), config.nesterov());
}

}  // namespace cairn::nn

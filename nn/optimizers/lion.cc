#include "nn/optimizers/lion.h"

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct Coefficients {
  float rate;
  float beta_1, new_share_1;
  float beta_2, new_share_2;
};

CAIRN_SIMD void Descend(const OptimizerRule::Chunk& chunk, const Coefficients& coefficients) {
  UpdateElements<1>(chunk,
                    [c = coefficients](float value, float g, float& momentum) CAIRN_ALWAYS_INLINE {
                      const float direction = c.beta_1 * momentum + c.new_share_1 * g;
                      momentum = c.beta_2 * momentum + c.new_share_2 * g;
                      // Zero and NaN are their own sign.
                      const float sign = direction > 0 ? 1.0f : direction < 0 ? -1.0f : direction;
                      return value - c.rate * sign;
                    });
}

class Lion final : public OptimizerRule {
 public:
  Lion(double beta_1, double beta_2) : beta_1_(beta_1), beta_2_(beta_2) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum"};
    return kNames;
  }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    Descend(chunk, {.rate = rate,
                    .beta_1 = static_cast<float>(beta_1_),
                    .new_share_1 = static_cast<float>(1 - beta_1_),
                    .beta_2 = static_cast<float>(beta_2_),
                    .new_share_2 = static_cast<float>(1 - beta_2_)});
  }

 private:
  const double beta_1_;
  const double beta_2_;
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateLion(const proto::Optimizer& config) {
  return std::make_unique<Lion>(config.has_beta_1() ? config.beta_1() : 0.9,
                                config.has_beta_2() ? config.beta_2() : 0.99);
}

}  // namespace cairn::nn

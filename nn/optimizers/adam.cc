#include "nn/optimizers/adam.h"

#include <cmath>

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct Coefficients {
  float rate;              // includes the bias corrections
  float new_share;         // 1 - beta_1
  float new_square_share;  // 1 - beta_2
  float epsilon;
};

CAIRN_SIMD void Descend(const OptimizerRule::Chunk& chunk, const Coefficients& coefficients) {
  UpdateElements<2>(chunk, [c = coefficients](float value, float g, float& momentum,
                                              float& velocity) CAIRN_ALWAYS_INLINE {
    momentum += c.new_share * (g - momentum);
    velocity += c.new_square_share * (g * g - velocity);
    return value - c.rate * momentum / (std::sqrt(velocity) + c.epsilon);
  });
}

CAIRN_SIMD void DescendAmsgrad(const OptimizerRule::Chunk& chunk,
                               const Coefficients& coefficients) {
  UpdateElements<3>(chunk, [c = coefficients](float value, float g, float& momentum,
                                              float& velocity, float& largest) CAIRN_ALWAYS_INLINE {
    momentum += c.new_share * (g - momentum);
    velocity += c.new_square_share * (g * g - velocity);
    largest = largest > velocity ? largest : velocity;
    return value - c.rate * momentum / (std::sqrt(largest) + c.epsilon);
  });
}

class Adam final : public OptimizerRule {
 public:
  Adam(double beta_1, double beta_2, float epsilon, bool amsgrad)
      : beta_1_(beta_1), beta_2_(beta_2), epsilon_(epsilon), amsgrad_(amsgrad) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum", "velocity", "velocity_hat"};
    return absl::MakeConstSpan(kNames, amsgrad_ ? 3 : 2);
  }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    const double correction = std::sqrt(1 - std::pow(beta_2_, t)) / (1 - std::pow(beta_1_, t));
    const Coefficients coefficients = {.rate = static_cast<float>(rate * correction),
                                       .new_share = static_cast<float>(1 - beta_1_),
                                       .new_square_share = static_cast<float>(1 - beta_2_),
                                       .epsilon = epsilon_};
    amsgrad_ ? DescendAmsgrad(chunk, coefficients) : Descend(chunk, coefficients);
  }

 private:
  const double beta_1_;
  const double beta_2_;
  const float epsilon_;
  const bool amsgrad_;
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateAdam(const proto::Optimizer& config) {
  return std::make_unique<Adam>(config.has_beta_1() ? config.beta_1() : 0.9,
                                config.has_beta_2() ? config.beta_2() : 0.999,
                                config.has_epsilon() ? config.epsilon() : 1e-7, config.amsgrad());
}

}  // namespace cairn::nn

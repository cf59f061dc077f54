#include "nn/optimizers/rmsprop.h"

#include <cmath>
#include <vector>

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct Coefficients {
  float rate;
  float rho;
  float new_share;  // 1 - rho
  float momentum;
  float epsilon;
};

// The moving average after adding `fresh`.
CAIRN_ALWAYS_INLINE inline float Mixed(const Coefficients& c, float old, float fresh) {
  return c.rho * old + c.new_share * fresh;
}

// The increment, centered and plain. Both update the averages.
CAIRN_ALWAYS_INLINE inline float Centered(const Coefficients& c, float g, float& velocity,
                                          float& average) {
  velocity = Mixed(c, velocity, g * g);
  average = Mixed(c, average, g);
  return c.rate * g / std::sqrt(velocity - average * average + c.epsilon);
}

CAIRN_ALWAYS_INLINE inline float Plain(const Coefficients& c, float g, float& velocity) {
  velocity = Mixed(c, velocity, g * g);
  return c.rate * g / std::sqrt(velocity + c.epsilon);
}

CAIRN_SIMD void Descend(const OptimizerRule::Chunk& chunk, const Coefficients& coefficients) {
  UpdateElements<1>(chunk, [c = coefficients](float value, float g, float& velocity)
                               CAIRN_ALWAYS_INLINE { return value - Plain(c, g, velocity); });
}

CAIRN_SIMD void DescendWithMomentum(const OptimizerRule::Chunk& chunk,
                                    const Coefficients& coefficients) {
  UpdateElements<2>(chunk, [c = coefficients](float value, float g, float& velocity,
                                              float& momentum) CAIRN_ALWAYS_INLINE {
    momentum = c.momentum * momentum + Plain(c, g, velocity);
    return value - momentum;
  });
}

CAIRN_SIMD void DescendCentered(const OptimizerRule::Chunk& chunk,
                                const Coefficients& coefficients) {
  UpdateElements<2>(chunk,
                    [c = coefficients](float value, float g, float& velocity, float& average)
                        CAIRN_ALWAYS_INLINE { return value - Centered(c, g, velocity, average); });
}

CAIRN_SIMD void DescendCenteredWithMomentum(const OptimizerRule::Chunk& chunk,
                                            const Coefficients& coefficients) {
  UpdateElements<3>(chunk, [c = coefficients](float value, float g, float& velocity, float& average,
                                              float& momentum) CAIRN_ALWAYS_INLINE {
    momentum = c.momentum * momentum + Centered(c, g, velocity, average);
    return value - momentum;
  });
}

class Rmsprop final : public OptimizerRule {
 public:
  Rmsprop(double rho, float momentum, float epsilon, bool centered)
      : rho_(rho), momentum_(momentum), epsilon_(epsilon), centered_(centered) {
    if (centered) slot_names_.push_back("average_gradient");
    if (momentum > 0) slot_names_.push_back("momentum");
  }

  absl::Span<const char* const> slot_names() const override { return slot_names_; }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    const Coefficients coefficients = {.rate = rate,
                                       .rho = static_cast<float>(rho_),
                                       .new_share = static_cast<float>(1 - rho_),
                                       .momentum = momentum_,
                                       .epsilon = epsilon_};
    if (centered_) {
      momentum_ > 0 ? DescendCenteredWithMomentum(chunk, coefficients)
                    : DescendCentered(chunk, coefficients);
    } else {
      momentum_ > 0 ? DescendWithMomentum(chunk, coefficients) : Descend(chunk, coefficients);
    }
  }

 private:
  const double rho_;
  const float momentum_;
  const float epsilon_;
  const bool centered_;
  std::vector<const char*> slot_names_ = {"velocity"};
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateRmsprop(const proto::Optimizer& config) {
  return std::make_unique<Rmsprop>(config.has_rho() ? config.rho() : 0.9, config.momentum(),
                                   config.has_epsilon() ? config.epsilon() : 1e-7,
                                   config.centered());
}

}  // namespace cairn::nn

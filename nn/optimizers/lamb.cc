#include "nn/optimizers/lamb.h"

#include <cmath>

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct Coefficients {
  float new_share;         // 1 - beta_1
  float new_square_share;  // 1 - beta_2
  float correction;        // 1 - beta_1^t
  float square_correction;
  float epsilon;
};

CAIRN_SIMD void MoveMoments(const OptimizerRule::Chunk& chunk, const Coefficients& coefficients) {
  UpdateElements<2>(chunk, [c = coefficients](float value, float g, float& momentum,
                                              float& velocity) CAIRN_ALWAYS_INLINE {
    momentum += c.new_share * (g - momentum);
    velocity += c.new_square_share * (g * g - velocity);
    return value;
  });
}

float Direction(const Coefficients& c, float momentum, float velocity) {
  return momentum / c.correction / (std::sqrt(velocity / c.square_correction) + c.epsilon);
}

class Lamb final : public OptimizerRule {
 public:
  Lamb(double beta_1, double beta_2, float epsilon)
      : beta_1_(beta_1), beta_2_(beta_2), epsilon_(epsilon) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum", "velocity"};
    return kNames;
  }

  bool needs_whole_variables() const override { return true; }

  // The norms need all moments, so there are three passes. Sums in the order of the elements do not
  // depend on the machine.
  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    const Coefficients c = {.new_share = static_cast<float>(1 - beta_1_),
                            .new_square_share = static_cast<float>(1 - beta_2_),
                            .correction = static_cast<float>(1 - std::pow(beta_1_, t)),
                            .square_correction = static_cast<float>(1 - std::pow(beta_2_, t)),
                            .epsilon = epsilon_};
    MoveMoments(chunk, c);
    const float* momentum = chunk.slots_out[0];
    const float* velocity = chunk.slots_out[1];
    double values = 0;
    double directions = 0;
    for (int64_t i = 0; i < chunk.count; ++i) {
      const double direction = Direction(c, momentum[i], velocity[i]);
      values += static_cast<double>(chunk.values_out[i]) * chunk.values_out[i];
      directions += direction * direction;
    }
    const double ratio = values > 0 && directions > 0 ? std::sqrt(values / directions) : 1;
    const float step = static_cast<float>(rate * ratio);
    for (int64_t i = 0; i < chunk.count; ++i) {
      chunk.values_out[i] -= step * Direction(c, momentum[i], velocity[i]);
    }
  }

 private:
  const double beta_1_;
  const double beta_2_;
  const float epsilon_;
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateLamb(const proto::Optimizer& config) {
  return std::make_unique<Lamb>(config.has_beta_1() ? config.beta_1() : 0.9,
                                config.has_beta_2() ? config.beta_2() : 0.999,
                                config.has_epsilon() ? config.epsilon() : 1e-7);
}

}  // namespace cairn::nn

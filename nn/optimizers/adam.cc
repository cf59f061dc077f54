#include "nn/optimizers/adam.h"

#include <cmath>

#include "common/simd.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

struct Coefficients {
  float rate;              // with the bias corrections
  float new_share;         // 1 - beta_1
  float new_square_share;  // 1 - beta_2
  float epsilon;
};

CAIRN_SIMD void Descend(const Optimizer::Block& block, const Coefficients& coefficients) {
  const Coefficients c = coefficients;
  const float* const gradient = block.gradient;
  const float* const values_in = block.values_in;
  const float* const momentum_in = block.slots_in[0];
  const float* const velocity_in = block.slots_in[1];
  float* const values_out = block.values_out;
  float* const momentum_out = block.slots_out[0];
  float* const velocity_out = block.slots_out[1];
  // Outputs may be their inputs; without the pragma the compiler's overlap check would then choose
  // its scalar loop.
#pragma GCC ivdep
  for (int64_t i = 0; i < block.count; ++i) {
    const float g = gradient[i];
    const float m = momentum_in[i] + c.new_share * (g - momentum_in[i]);
    const float v = velocity_in[i] + c.new_square_share * (g * g - velocity_in[i]);
    momentum_out[i] = m;
    velocity_out[i] = v;
    values_out[i] = values_in[i] - c.rate * m / (std::sqrt(v) + c.epsilon);
  }
}

class Adam final : public Optimizer {
 public:
  Adam(float learning_rate, double beta_1, double beta_2, float epsilon)
      : Optimizer(learning_rate), beta_1_(beta_1), beta_2_(beta_2), epsilon_(epsilon) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum", "velocity"};
    return kNames;
  }
  float initial_slot_value(int slot) const override { return 0; }

  void Apply(const Block& block, int64_t update_count, float learning_rate) const override {
    const double t = static_cast<double>(update_count) + 1;
    const double correction = std::sqrt(1 - std::pow(beta_2_, t)) / (1 - std::pow(beta_1_, t));
    Descend(block, {.rate = static_cast<float>(learning_rate * correction),
                    .new_share = static_cast<float>(1 - beta_1_),
                    .new_square_share = static_cast<float>(1 - beta_2_),
                    .epsilon = epsilon_});
  }

 private:
  const double beta_1_;
  const double beta_2_;
  const float epsilon_;
};

}  // namespace

std::unique_ptr<Optimizer> CreateAdam(const proto::Optimizer& config) {
  return std::make_unique<Adam>(config.has_learning_rate() ? config.learning_rate() : 0.001,
                                config.has_beta_1() ? config.beta_1() : 0.9,
                                config.has_beta_2() ? config.beta_2() : 0.999,
                                config.has_epsilon() ? config.epsilon() : 1e-7);
}

}  // namespace cairn::nn

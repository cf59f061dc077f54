#include "nn/optimizers/adagrad.h"

#include <cmath>

#include "common/simd.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void Descend(const Optimizer::Block& block, float rate, float epsilon) {
  const float* const gradient = block.gradient;
  const float* const values_in = block.values_in;
  const float* const accumulator_in = block.slots_in[0];
  float* const values_out = block.values_out;
  float* const accumulator_out = block.slots_out[0];
  // Outputs may be their inputs; without the pragma the compiler's overlap check would then choose
  // its scalar loop.
#pragma GCC ivdep
  for (int64_t i = 0; i < block.count; ++i) {
    const float g = gradient[i];
    const float sum = accumulator_in[i] + g * g;
    accumulator_out[i] = sum;
    values_out[i] = values_in[i] - rate * g / std::sqrt(sum + epsilon);
  }
}

class Adagrad final : public Optimizer {
 public:
  Adagrad(float learning_rate, float initial_accumulator_value, float epsilon)
      : Optimizer(learning_rate),
        initial_accumulator_value_(initial_accumulator_value),
        epsilon_(epsilon) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"accumulator"};
    return kNames;
  }
  float initial_slot_value(int slot) const override { return initial_accumulator_value_; }

  void Apply(const Block& block, int64_t update_count, float learning_rate) const override {
    Descend(block, learning_rate, epsilon_);
  }

 private:
  const float initial_accumulator_value_;
  const float epsilon_;
};

}  // namespace

std::unique_ptr<Optimizer> CreateAdagrad(const proto::Optimizer& config) {
  return std::make_unique<Adagrad>(
      config.has_learning_rate() ? config.learning_rate() : 0.001,
      config.has_initial_accumulator_value() ? config.initial_accumulator_value() : 0.1,
      config.has_epsilon() ? config.epsilon() : 1e-7);
}

}  // namespace cairn::nn

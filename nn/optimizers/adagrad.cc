#include "nn/optimizers/adagrad.h"

#include <cmath>

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void Descend(const OptimizerRule::Chunk& chunk, float rate, float epsilon) {
  UpdateElements<1>(chunk,
                    [rate, epsilon](float value, float g, float& accumulator) CAIRN_ALWAYS_INLINE {
                      accumulator += g * g;
                      return value - rate * g / std::sqrt(accumulator + epsilon);
                    });
}

class Adagrad final : public OptimizerRule {
 public:
  Adagrad(float initial_accumulator_value, float epsilon)
      : initial_accumulator_value_(initial_accumulator_value), epsilon_(epsilon) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"accumulator"};
    return kNames;
  }
  float initial_slot_value(int slot) const override { return initial_accumulator_value_; }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    Descend(chunk, rate, epsilon_);
  }

 private:
  const float initial_accumulator_value_;
  const float epsilon_;
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateAdagrad(const proto::Optimizer& config) {
  return std::make_unique<Adagrad>(
      config.has_initial_accumulator_value() ? config.initial_accumulator_value() : 0.1,
      config.has_epsilon() ? config.epsilon() : 1e-7);
}

}  // namespace cairn::nn

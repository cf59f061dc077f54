#include "nn/optimizers/ftrl.h"

#include <algorithm>
#include <cmath>

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct Coefficients {
  float rate;
  float power;  // -learning_rate_power
  float l1;
  float two_l2;  // includes beta
  float two_shrinkage;
};

// One FTRL step; `power(x)` returns x^power.
template <typename Power>
CAIRN_ALWAYS_INLINE inline void Regularize(const OptimizerRule::Chunk& chunk,
                                           const Coefficients& coefficients, const Power& power) {
  UpdateElements<2>(chunk, [c = coefficients, power](float value, float g, float& accumulator,
                                                     float& linear) CAIRN_ALWAYS_INLINE {
    const float sum = accumulator + g * g;
    const float sum_power = power(sum);
    linear += g + c.two_shrinkage * value - (sum_power - power(accumulator)) / c.rate * value;
    accumulator = sum;
    float clipped = linear > c.l1 ? c.l1 : linear;
    clipped = clipped < -c.l1 ? -c.l1 : clipped;
    return (clipped - linear) / (sum_power / c.rate + c.two_l2);
  });
}

// The default power 1/2, the only one that the compiler can vectorize.
CAIRN_SIMD void RegularizeByRoot(const OptimizerRule::Chunk& chunk,
                                 const Coefficients& coefficients) {
  Regularize(chunk, coefficients, [](float x) CAIRN_ALWAYS_INLINE { return std::sqrt(x); });
}

void RegularizeByPower(const OptimizerRule::Chunk& chunk, const Coefficients& coefficients) {
  Regularize(chunk, coefficients, [power = coefficients.power](float x) CAIRN_ALWAYS_INLINE {
    return std::pow(x, power);
  });
}

class Ftrl final : public OptimizerRule {
 public:
  explicit Ftrl(const proto::Optimizer& config)
      : power_(config.has_learning_rate_power() ? -config.learning_rate_power() : 0.5),
        initial_accumulator_value_(
            config.has_initial_accumulator_value() ? config.initial_accumulator_value() : 0.1),
        l1_(config.l1_regularization_strength()),
        l2_(config.l2_regularization_strength()),
        shrinkage_(config.l2_shrinkage_regularization_strength()),
        beta_(config.beta()) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"accumulator", "linear"};
    return kNames;
  }
  float initial_slot_value(int slot) const override {
    return slot == 0 ? initial_accumulator_value_ : 0;
  }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    if (rate == 0) return Copy(chunk);
    const Coefficients coefficients = {.rate = rate,
                                       .power = power_,
                                       .l1 = l1_,
                                       .two_l2 = static_cast<float>(2 * l2_ + beta_ / rate),
                                       .two_shrinkage = static_cast<float>(2 * shrinkage_)};
    power_ == 0.5f ? RegularizeByRoot(chunk, coefficients) : RegularizeByPower(chunk, coefficients);
  }

 private:
  static void Copy(const Chunk& chunk) {
    std::copy_n(chunk.values_in, chunk.count, chunk.values_out);
    for (int slot : {0, 1}) std::copy_n(chunk.slots_in[slot], chunk.count, chunk.slots_out[slot]);
  }

  const float power_;
  const float initial_accumulator_value_;
  const float l1_;
  const double l2_;
  const double shrinkage_;
  const double beta_;
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateFtrl(const proto::Optimizer& config) {
  return std::make_unique<Ftrl>(config);
}

}  // namespace cairn::nn

#include "nn/optimizers/nadam.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

constexpr double kDecay = 0.96;
// From this t on, 1 - kDecay^t / 2 rounds to 1.
constexpr int64_t kFactors = 1000;

struct Coefficients {
  float rate;
  float new_share;          // 1 - beta_1
  float new_square_share;   // 1 - beta_2
  float momentum_share;     // in the corrected momentum
  float gradient_share;     // in the corrected momentum
  float square_correction;  // 1 - beta_2^t
  float epsilon;
};

CAIRN_SIMD void Descend(const OptimizerRule::Chunk& chunk, const Coefficients& coefficients) {
  UpdateElements<2>(chunk, [c = coefficients](float value, float g, float& momentum,
                                              float& velocity) CAIRN_ALWAYS_INLINE {
    momentum += c.new_share * (g - momentum);
    velocity += c.new_square_share * (g * g - velocity);
    const float corrected = c.momentum_share * momentum + c.gradient_share * g;
    return value - c.rate * corrected / (std::sqrt(velocity / c.square_correction) + c.epsilon);
  });
}

class Nadam final : public OptimizerRule {
 public:
  Nadam(double beta_1, double beta_2, float epsilon)
      : beta_1_(beta_1), beta_2_(beta_2), epsilon_(epsilon) {
    products_[0] = 1;
    for (int64_t t = 1; t <= kFactors; ++t) products_[t] = products_[t - 1] * Factor(t);
  }

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum", "velocity"};
    return kNames;
  }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    const double u = beta_1_ * Factor(t);
    const double next_u = beta_1_ * Factor(t + 1);
    Descend(chunk, {.rate = rate,
                    .new_share = static_cast<float>(1 - beta_1_),
                    .new_square_share = static_cast<float>(1 - beta_2_),
                    .momentum_share = static_cast<float>(next_u / (1 - ProductTo(t + 1))),
                    .gradient_share = static_cast<float>((1 - u) / (1 - ProductTo(t))),
                    .square_correction = static_cast<float>(1 - std::pow(beta_2_, t)),
                    .epsilon = epsilon_});
  }

 private:
  // u_t / beta_1.
  static double Factor(int64_t t) { return 1 - 0.5 * std::pow(kDecay, t); }

  // The product u_1 ... u_t. Keras keeps it as a variable; here it is computed from t.
  double ProductTo(int64_t t) const {
    return std::pow(beta_1_, t) * products_[std::min(t, kFactors)];
  }

  const double beta_1_;
  const double beta_2_;
  const float epsilon_;
  std::array<double, kFactors + 1> products_;  // By t: the product of Factor(1) ... Factor(t).
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateNadam(const proto::Optimizer& config) {
  return std::make_unique<Nadam>(config.has_beta_1() ? config.beta_1() : 0.9,
                                 config.has_beta_2() ? config.beta_2() : 0.999,
                                 config.has_epsilon() ? config.epsilon() : 1e-7);
}

}  // namespace cairn::nn

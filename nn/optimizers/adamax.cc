#include "nn/optimizers/adamax.h"

#include <cmath>

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct Coefficients {
  float rate;       // includes the bias correction
  float new_share;  // 1 - beta_1
  float beta_2;
  float epsilon;
};

CAIRN_SIMD void Descend(const OptimizerRule::Chunk& chunk, const Coefficients& coefficients) {
  UpdateElements<2>(chunk, [c = coefficients](float value, float g, float& momentum, float& norm)
                               CAIRN_ALWAYS_INLINE {
                                 momentum += c.new_share * (g - momentum);
                                 const float old = c.beta_2 * norm;
                                 const float size = std::fabs(g);
                                 norm = old > size ? old : size;
                                 return value - c.rate * momentum / (norm + c.epsilon);
                               });
}

class Adamax final : public OptimizerRule {
 public:
  Adamax(double beta_1, float beta_2, float epsilon)
      : beta_1_(beta_1), beta_2_(beta_2), epsilon_(epsilon) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum", "norm"};
    return kNames;
  }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    Descend(chunk, {.rate = static_cast<float>(rate / (1 - std::pow(beta_1_, t))),
                    .new_share = static_cast<float>(1 - beta_1_),
                    .beta_2 = beta_2_,
                    .epsilon = epsilon_});
  }

 private:
  const double beta_1_;
  const float beta_2_;
  const float epsilon_;
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateAdamax(const proto::Optimizer& config) {
  return std::make_unique<Adamax>(config.has_beta_1() ? config.beta_1() : 0.9,
                                  config.has_beta_2() ? config.beta_2() : 0.999,
                                  config.has_epsilon() ? config.epsilon() : 1e-7);
}

}  // namespace cairn::nn

#include "nn/optimizers/adadelta.h"

#include <cmath>

#include "common/simd.h"
#include "nn/optimizers/element_loop.h"
#include "proto/objective.pb.h"

namespace cairn::nn {
namespace {

struct Coefficients {
  float rate;
  float rho;
  float new_share;  // 1 - rho
  float epsilon;
};

CAIRN_SIMD void Descend(const OptimizerRule::Chunk& chunk, const Coefficients& coefficients) {
  UpdateElements<2>(chunk, [c = coefficients](float value, float g, float& squares,
                                              float& deltas) CAIRN_ALWAYS_INLINE {
    squares = c.rho * squares + c.new_share * (g * g);
    const float delta = std::sqrt(deltas + c.epsilon) / std::sqrt(squares + c.epsilon) * g;
    deltas = c.rho * deltas + c.new_share * (delta * delta);
    return value - c.rate * delta;
  });
}

class Adadelta final : public OptimizerRule {
 public:
  Adadelta(double rho, float epsilon) : rho_(rho), epsilon_(epsilon) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"accumulated_grad", "accumulated_delta_var"};
    return kNames;
  }

  void Update(const Chunk& chunk, int64_t t, float rate) const override {
    Descend(chunk, {.rate = rate,
                    .rho = static_cast<float>(rho_),
                    .new_share = static_cast<float>(1 - rho_),
                    .epsilon = epsilon_});
  }

 private:
  const double rho_;
  const float epsilon_;
};

}  // namespace

std::unique_ptr<OptimizerRule> CreateAdadelta(const proto::Optimizer& config) {
  return std::make_unique<Adadelta>(config.has_rho() ? config.rho() : 0.95,
                                    config.has_epsilon() ? config.epsilon() : 1e-7);
}

}  // namespace cairn::nn

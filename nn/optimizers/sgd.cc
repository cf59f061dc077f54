#include "nn/optimizers/sgd.h"

#include "common/simd.h"
#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

CAIRN_SIMD void Descend(const Optimizer::Block& block, float rate) {
  const float* const gradient = block.gradient;
  const float* const values_in = block.values_in;
  float* const values_out = block.values_out;
  // Outputs may be their inputs; without the pragma the compiler's overlap check would then choose
  // its scalar loop.
#pragma GCC ivdep
  for (int64_t i = 0; i < block.count; ++i) values_out[i] = values_in[i] - rate * gradient[i];
}

CAIRN_SIMD void DescendWithMomentum(const Optimizer::Block& block, float rate, float momentum) {
  const float* const gradient = block.gradient;
  const float* const values_in = block.values_in;
  const float* const momentum_in = block.slots_in[0];
  float* const values_out = block.values_out;
  float* const momentum_out = block.slots_out[0];
#pragma GCC ivdep
  for (int64_t i = 0; i < block.count; ++i) {
    const float step = momentum * momentum_in[i] - rate * gradient[i];
    momentum_out[i] = step;
    values_out[i] = values_in[i] + step;
  }
}

CAIRN_SIMD void DescendWithNesterov(const Optimizer::Block& block, float rate, float momentum) {
  const float* const gradient = block.gradient;
  const float* const values_in = block.values_in;
  const float* const momentum_in = block.slots_in[0];
  float* const values_out = block.values_out;
  float* const momentum_out = block.slots_out[0];
#pragma GCC ivdep
  for (int64_t i = 0; i < block.count; ++i) {
    const float descent = rate * gradient[i];
    const float step = momentum * momentum_in[i] - descent;
    momentum_out[i] = step;
    values_out[i] = values_in[i] + (momentum * step - descent);
  }
}

class Sgd final : public Optimizer {
 public:
  Sgd(float learning_rate, float momentum, bool nesterov)
      : Optimizer(learning_rate), momentum_(momentum), nesterov_(nesterov) {}

  absl::Span<const char* const> slot_names() const override {
    static constexpr const char* kNames[] = {"momentum"};
    return absl::MakeConstSpan(kNames, momentum_ > 0 ? 1 : 0);
  }
  float initial_slot_value(int slot) const override { return 0; }

  void Apply(const Block& block, int64_t update_count, float learning_rate) const override {
    if (momentum_ == 0) {
      Descend(block, learning_rate);
    } else if (nesterov_) {
      DescendWithNesterov(block, learning_rate, momentum_);
    } else {
      DescendWithMomentum(block, learning_rate, momentum_);
    }
  }

 private:
  const float momentum_;
  const bool nesterov_;
};

}  // namespace

std::unique_ptr<Optimizer> CreateSgd(const proto::Optimizer& config) {
  const double learning_rate = config.has_learning_rate() ? config.learning_rate() : 0.01;
  return std::make_unique<Sgd>(learning_rate, config.momentum(), config.nesterov());
}

}  // namespace cairn::nn

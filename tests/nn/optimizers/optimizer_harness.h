#ifndef CAIRN_TESTS_NN_OPTIMIZERS_OPTIMIZER_HARNESS_H_
#define CAIRN_TESTS_NN_OPTIMIZERS_OPTIMIZER_HARNESS_H_

#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "nn/optimizer.h"
#include "proto/job.pb.h"

namespace cairn::nn {

inline proto::Optimizer OptimizerNamed(const std::string& name) {
  proto::Optimizer config;
  config.set_name(name);
  return config;
}

// The gradient of element i in update t; both signs and several magnitudes occur.
inline float TestGradient(int64_t t, int64_t i) {
  return (RandomUniform(t, i) - 0.5f) * (i % 3 == 0 ? 10.0f : 0.1f);
}

// The values and slots of an optimizer.
struct OptimizerState {
  std::vector<float> values;
  std::vector<std::vector<float>> slots;

  OptimizerState(const Optimizer& optimizer, int64_t count) : values(count) {
    for (int64_t i = 0; i < count; ++i) values[i] = RandomUniform(99, i) * 2 - 1;
    for (int slot = 0; slot < optimizer.slot_count(); ++slot) {
      slots.emplace_back(count, optimizer.initial_slot_value(slot));
    }
  }

  bool operator==(const OptimizerState&) const = default;
};

// Applies one update to elements [begin, end), from `in` to `out`, which may be the same.
inline void ApplyRange(const Optimizer& optimizer, const OptimizerState& in, OptimizerState* out,
                       int64_t begin, int64_t end, int64_t update_count, float rate,
                       float gradient_scale = 1) {
  std::vector<float> gradient;
  for (int64_t i = begin; i < end; ++i) gradient.push_back(TestGradient(update_count, i));
  OptimizerRule::Chunk chunk = {.count = end - begin,
                                .gradient = gradient.data(),
                                .values_in = in.values.data() + begin,
                                .values_out = out->values.data() + begin,
                                .gradient_scale = gradient_scale};
  for (size_t slot = 0; slot < in.slots.size(); ++slot) {
    chunk.slots_in[slot] = in.slots[slot].data() + begin;
    chunk.slots_out[slot] = out->slots[slot].data() + begin;
  }
  optimizer.Apply(chunk, update_count, rate);
}

// Applies `updates` updates in place to a fresh state.
inline OptimizerState Train(const Optimizer& optimizer, int64_t count, int64_t updates) {
  OptimizerState state(optimizer, count);
  for (int64_t t = 0; t < updates; ++t) {
    ApplyRange(optimizer, state, &state, 0, count, t, optimizer.learning_rate(t));
  }
  return state;
}

}  // namespace cairn::nn

#endif  // CAIRN_TESTS_NN_OPTIMIZERS_OPTIMIZER_HARNESS_H_

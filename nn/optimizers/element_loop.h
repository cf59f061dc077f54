#ifndef CAIRN_NN_OPTIMIZERS_ELEMENT_LOOP_H_
#define CAIRN_NN_OPTIMIZERS_ELEMENT_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "nn/optimizers/rule.h"

#define CAIRN_ALWAYS_INLINE __attribute__((always_inline))

namespace cairn::nn {

template <size_t... slot, typename Step>
CAIRN_ALWAYS_INLINE inline void UpdateElements(const OptimizerRule::Chunk& chunk, const Step& step,
                                               std::index_sequence<slot...>) {
  const float* const gradient = chunk.gradient;
  const float* const values_in = chunk.values_in;
  float* const values_out = chunk.values_out;
  // One element more than slots, because C++ has no arrays of length 0.
  [[maybe_unused]] const float* const slots_in[] = {chunk.slots_in[slot]..., nullptr};
  [[maybe_unused]] float* const slots_out[] = {chunk.slots_out[slot]..., nullptr};
  const float scale = chunk.gradient_scale;
  const float limit = chunk.gradient_limit;
  const float decay = chunk.decay;
  // Outputs may equal their inputs. Without the pragma the compiler's run-time overlap check would
  // select the scalar loop then.
#pragma GCC ivdep
  for (int64_t i = 0; i < chunk.count; ++i) {
    float g = gradient[i] * scale;
    // Written so that NaN stays NaN.
    g = g > limit ? limit : g;
    g = g < -limit ? -limit : g;
    const float value = values_in[i] - decay * values_in[i];
    float slots[] = {slots_in[slot][i]..., 0};
    values_out[i] = step(value, g, slots[slot]...);
    ((slots_out[slot][i] = slots[slot]), ...);
  }
}

// The loop of every rule: for each element, value = step(value, gradient, slots by reference...).
// Call it from a CAIRN_SIMD function with a step that is CAIRN_ALWAYS_INLINE, so that both are
// compiled for that function's instruction sets.
template <size_t slot_count, typename Step>
CAIRN_ALWAYS_INLINE inline void UpdateElements(const OptimizerRule::Chunk& chunk,
                                               const Step& step) {
  UpdateElements(chunk, step, std::make_index_sequence<slot_count>());
}

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_ELEMENT_LOOP_H_

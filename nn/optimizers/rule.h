#ifndef CAIRN_NN_OPTIMIZERS_RULE_H_
#define CAIRN_NN_OPTIMIZERS_RULE_H_

#include <array>
#include <cstdint>
#include <limits>

#include "absl/types/span.h"

namespace cairn::nn {

// The update rule of one optimizer (SGD, Adam, ...). What all optimizers share (schedules,
// clipping, weight decay, averages) is in nn/optimizer.h. An element's update depends on its own
// numbers only, so the result depends neither on the machine nor on how a variable is partitioned
// into blocks. A rule with needs_whole_variables() is the exception. Immutable and thread-safe.
class OptimizerRule {
 public:
  static constexpr int kSlotsMax = 8;

  // `count` values with their gradient and slots. Each output may be the same array as its input;
  // other overlaps are not allowed.
  struct Chunk {
    int64_t count = 0;
    const float* gradient = nullptr;
    const float* values_in = nullptr;
    float* values_out = nullptr;
    std::array<const float*, kSlotsMax> slots_in = {};
    std::array<float*, kSlotsMax> slots_out = {};
    // Applied to the gradient first, in this order: multiply by gradient_scale, then clip to
    // +-gradient_limit.
    float gradient_scale = 1;
    float gradient_limit = std::numeric_limits<float>::infinity();
    // Applied to the values first: value -= decay * value.
    float decay = 0;
  };

  virtual ~OptimizerRule() = default;

  // Keras's name of each slot ("momentum", "velocity").
  virtual absl::Span<const char* const> slot_names() const = 0;
  virtual float initial_slot_value(int slot) const { return 0; }
  // True if an update uses norms of the variable: each chunk must be a whole variable.
  virtual bool needs_whole_variables() const { return false; }

  // Applies update number t (the first one is 1) at this learning rate, in one pass over memory.
  virtual void Update(const Chunk& chunk, int64_t t, float rate) const = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_RULE_H_

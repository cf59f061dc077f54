#ifndef CAIRN_NN_OPTIMIZERS_RULE_H_
#define CAIRN_NN_OPTIMIZERS_RULE_H_

#include <cstdint>
#include <limits>

#include "absl/types/span.h"

namespace cairn::nn {

// How an optimizer of one name turns a gradient into an update of values and of its own slots; what
// all optimizers have in common (schedules, clipping, weight decay, averages) is nn/optimizer.h's.
// Immutable and thread-safe. An element's update depends on nothing but its own numbers, so bits
// depend neither on the machine nor on how a variable is cut into blocks.
class OptimizerRule {
 public:
  // `count` values with their gradient and slots. An output may be the same array as its input;
  // other overlaps are not allowed.
  struct Piece {
    int64_t count = 0;
    const float* gradient = nullptr;
    const float* values_in = nullptr;
    float* values_out = nullptr;
    const float* const* slots_in = nullptr;
    float* const* slots_out = nullptr;
    // Done to the gradient first, in this order: multiplied, then clipped to +-limit.
    float gradient_scale = 1;
    float gradient_limit = std::numeric_limits<float>::infinity();
    // Done to the values first: value -= decay * value.
    float decay = 0;
  };

  virtual ~OptimizerRule() = default;

  // One name per slot, Keras's ("momentum", "velocity").
  virtual absl::Span<const char* const> slot_names() const = 0;
  virtual float initial_slot_value(int slot) const { return 0; }

  // Update number t (the first is 1) in one pass over memory, at this learning rate.
  virtual void Update(const Piece& piece, int64_t t, float rate) const = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_RULE_H_

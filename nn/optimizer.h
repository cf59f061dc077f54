#ifndef CAIRN_NN_OPTIMIZER_H_
#define CAIRN_NN_OPTIMIZER_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// A rule that turns a gradient into an update of values and of its own slots (moments,
// accumulators: one float per value each). Keras 3's rules and defaults. Immutable and thread-safe:
// what changes is the caller's. Bits depend on the inputs only, not on the machine, nor on how a
// variable is cut into blocks.
class Optimizer {
 public:
  // `count` values, their gradient and slots; slots_in and slots_out have slot_count() pointers
  // each (and may be null when there are none). An output may be the same array as its input; if
  // it is another one the values move while they are updated, so that keeping the old version costs
  // no pass of its own. Other overlaps are not allowed.
  struct Block {
    int64_t count = 0;
    const float* gradient = nullptr;
    const float* values_in = nullptr;
    float* values_out = nullptr;
    const float* const* slots_in = nullptr;
    float* const* slots_out = nullptr;
  };

  virtual ~Optimizer() = default;

  // One name per slot, Keras's ("momentum", "velocity").
  virtual absl::Span<const char* const> slot_names() const = 0;
  virtual float initial_slot_value(int slot) const = 0;

  // One update in one pass over memory. `update_count` is the number of updates that these values
  // have seen before this one.
  virtual void Apply(const Block& block, int64_t update_count, float learning_rate) const = 0;

  int slot_count() const { return static_cast<int>(slot_names().size()); }

  // The configured rate, which Apply is given unless a schedule or a user changed it.
  float learning_rate() const { return learning_rate_; }

 protected:
  explicit Optimizer(float learning_rate) : learning_rate_(learning_rate) {}

 private:
  const float learning_rate_;
};

// The optimizer of that name (case does not matter) with its arguments. INVALID_ARGUMENT names an
// unknown optimizer, an argument that this one does not have, or a value out of range, and lists
// what is known.
absl::StatusOr<std::unique_ptr<Optimizer>> CreateOptimizer(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZER_H_

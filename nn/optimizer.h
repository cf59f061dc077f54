#ifndef CAIRN_NN_OPTIMIZER_H_
#define CAIRN_NN_OPTIMIZER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/optimizers/gradient_clip.h"
#include "nn/optimizers/learning_rate.h"
#include "nn/optimizers/rule.h"

namespace cairn::proto {
class Optimizer;
}

namespace cairn::nn {

// Turns a gradient into an update of values and of slots (moments, accumulators, averages: one
// float per value each), as the optimizers of Keras 3 do (keras/src/optimizers/base_optimizer.py):
// clip the gradient, decay the values (value -= weight_decay * rate * value), apply the rule of the
// optimizer's name, move the average of the values. Immutable and thread-safe: what changes is the
// caller's. Bits depend on the inputs only, not on the machine, nor on how a variable is cut into
// blocks.
//
// `use_ema` keeps an average of the values in one more slot: average = m * average + (1 - m) *
// value after each update, and the value itself after the first. Every `ema_overwrite_frequency`
// updates the values become their average. As in Keras, the trained model is the average: training
// goes on with the values, who evaluates or exports takes that slot.
class Optimizer {
 public:
  static constexpr int kSlotsMax = 8;

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
    // What the gradient is multiplied with, where clip().needs_norm(): the clip's NormScale.
    float gradient_scale = 1;
  };

  // One name per slot, Keras's ("momentum", "velocity").
  absl::Span<const char* const> slot_names() const { return slot_names_; }
  int slot_count() const { return static_cast<int>(slot_names_.size()); }
  float initial_slot_value(int slot) const;

  const GradientClip& clip() const { return clip_; }

  // One update in one pass over memory. `update_count` is the number of updates that these values
  // have seen before this one.
  void Apply(const Block& block, int64_t update_count, float learning_rate) const;

  // The configured rate for that update, which Apply is given unless a user changed it.
  float learning_rate(int64_t update_count) const { return learning_rate_.At(update_count); }

  // Where the average of the values is, once there was an update; -1: nowhere.
  int average_slot() const { return averages_ ? slot_count() - 1 : -1; }
  static constexpr const char* kAverageSlotName = "average";

 private:
  friend absl::StatusOr<std::unique_ptr<Optimizer>> CreateOptimizer(const proto::Optimizer& config);

  explicit Optimizer(LearningRate learning_rate) : learning_rate_(std::move(learning_rate)) {}

  const LearningRate learning_rate_;
  std::unique_ptr<OptimizerRule> rule_;
  std::vector<const char*> slot_names_;
  GradientClip clip_;
  float weight_decay_ = 0;
  bool averages_ = false;
  double average_momentum_ = 0;
  int64_t overwrite_frequency_ = 0;  // 0: never.
};

// The optimizer of that name (case does not matter) with its arguments. INVALID_ARGUMENT names an
// unknown optimizer, an argument that this one does not have, or a value out of range, and lists
// what is known.
absl::StatusOr<std::unique_ptr<Optimizer>> CreateOptimizer(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZER_H_

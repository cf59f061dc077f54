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

// An optimizer as in Keras 3 (keras/src/optimizers/base_optimizer.py). It updates values and slots
// from a gradient in this order: clip the gradient, decay the weights (value -= weight_decay * rate
// * value), apply the optimizer's rule, update the exponential moving average. Slots are the
// optimizer's state: moments, accumulators and averages, one float per value each.
//
// With `use_ema` one more slot holds an exponential moving average of the values: average = m *
// average + (1 - m) * value after each update; the first average is the value itself. Every
// `ema_overwrite_frequency` updates the values are replaced by their average. As in Keras, the
// average is the trained model: training continues with the values, but evaluation and export use
// that slot.
//
// Immutable and thread-safe: all state belongs to the caller. The result is bitwise reproducible:
// it depends neither on the machine nor, unless needs_whole_variables(), on how a variable is
// partitioned into blocks.
class Optimizer {
 public:
  // Keras's name of each slot ("momentum", "velocity").
  absl::Span<const char* const> slot_names() const { return slot_names_; }
  int slot_count() const { return static_cast<int>(slot_names_.size()); }
  float initial_slot_value(int slot) const;
  // True if Apply must get whole variables instead of blocks of them.
  bool needs_whole_variables() const { return rule_->needs_whole_variables(); }

  const GradientClip& clip() const { return clip_; }

  // Applies one update in one pass over memory. `update_count` is the number of updates applied to
  // these values before. The chunk has slot_count() slots. Its gradient_scale is the result of
  // clip().NormScale if clip().needs_norm(); the optimizer sets gradient_limit and decay. With
  // other output arrays than inputs the update also copies the values, so keeping the old version
  // costs no extra pass.
  void Apply(OptimizerRule::Chunk chunk, int64_t update_count, float learning_rate) const;

  // The configured learning rate of that update. Callers pass it to Apply unless a user changed the
  // rate.
  float learning_rate(int64_t update_count) const { return learning_rate_.At(update_count); }

  // The slot that holds the average of the values, valid after the first update; -1 without
  // use_ema.
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

// Creates the optimizer called config.name() (case-insensitive). INVALID_ARGUMENT: an unknown
// optimizer, an argument that it does not have, or a value out of range; the message lists the
// known ones.
absl::StatusOr<std::unique_ptr<Optimizer>> CreateOptimizer(const proto::Optimizer& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZER_H_

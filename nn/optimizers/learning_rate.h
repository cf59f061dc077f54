#ifndef CAIRN_NN_OPTIMIZERS_LEARNING_RATE_H_
#define CAIRN_NN_OPTIMIZERS_LEARNING_RATE_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/status/statusor.h"

namespace cairn::proto {
class LearningRateSchedule;
class Optimizer;
}  // namespace cairn::proto

namespace cairn::nn {

// The learning rate as a function of the step, which is the number of updates that a block has seen
// before the one that the rate is for. Keras 3's schedules, names and defaults
// (keras/src/optimizers/schedules/learning_rate_schedule.py), computed in double:
//
//   constant                 initial_learning_rate
//   exponential_decay        initial * decay_rate^(step / decay_steps); staircase: whole numbers
//   only inverse_time_decay       initial / (1 + decay_rate * step / decay_steps); staircase as
//   above piecewise_constant_decay values[i] up to and including step boundaries[i], then the last
//   one polynomial_decay         (initial - end) * (1 - min(step, n) / n)^power + end with n =
//                            decay_steps; cycle: n is the next multiple of decay_steps instead
//   cosine_decay             initial * ((1 - alpha) * (1 + cos(pi * min(step, n) / n)) / 2 + alpha)
//   cosine_decay_restarts    the same in periods of first_decay_steps * t_mul^i steps, the cosine
//                            multiplied by m_mul^i in the i-th
//
// With `warmup_steps` w the rate first grows linearly, step / w of the way, from 0 to what the
// schedule begins with, and the schedule's own step 0 is step w. cosine_decay with `warmup_target`
// is Keras's: it grows from the initial rate to the target, and decays from there.
// Immutable, thread-safe.
class LearningRate {
 public:
  // The config's schedule, or its number, or `default_rate`. INVALID_ARGUMENT: both; an unknown
  // schedule; an argument that is unknown, missing or out of range.
  static absl::StatusOr<LearningRate> Create(const proto::Optimizer& config, double default_rate);

  // `step` >= 0.
  float At(int64_t step) const { return static_cast<float>(function_(static_cast<double>(step))); }

 private:
  using Function = std::function<double(double step)>;

  explicit LearningRate(Function function) : function_(std::move(function)) {}
  static absl::StatusOr<Function> CreateSchedule(const proto::LearningRateSchedule& config);

  Function function_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_LEARNING_RATE_H_

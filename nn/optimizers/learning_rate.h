#ifndef CAIRN_NN_OPTIMIZERS_LEARNING_RATE_H_
#define CAIRN_NN_OPTIMIZERS_LEARNING_RATE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::proto {
class LearningRateSchedule;
class Optimizer;
}  // namespace cairn::proto

namespace cairn::nn {

// Checks a schedule's name. INVALID_ARGUMENT: the name is unknown; the message lists the known
// ones.
absl::Status CheckScheduleName(const std::string& name);

// The learning rate as a function of the step, which is the number of updates applied to a block
// before. The schedules, names and defaults are those of Keras 3
// (keras/src/optimizers/schedules/learning_rate_schedule.py), computed in double. With r =
// initial_learning_rate and n = decay_steps:
//
//   constant                  r
//   exponential_decay         r * decay_rate^(step / n); staircase rounds the exponent down
//   inverse_time_decay        r / (1 + decay_rate * step / n); staircase as above
//   piecewise_constant_decay  values[i] for the first i with step <= boundaries[i], else the last
//   polynomial_decay          (r - end) * (1 - min(step, n) / n)^power + end; with cycle, n is the
//                             next multiple of decay_steps
//   cosine_decay              r * ((1 - alpha) * (1 + cos(pi * min(step, n) / n)) / 2 + alpha)
//   cosine_decay_restarts     the same in periods of first_decay_steps * t_mul^i steps, with the
//                             cosine multiplied by m_mul^i in period i
//
// With `warmup_steps` w the rate first grows linearly from 0 to the schedule's initial rate, and
// the schedule's step 0 is step w. cosine_decay with `warmup_target` works as in Keras: the rate
// grows from the initial rate to the target and decays from there. Immutable and thread-safe.
class LearningRate {
 public:
  // Creates the config's schedule, or a constant rate: the config's number or `default_rate`.
  // INVALID_ARGUMENT: both are given, the schedule is unknown, or an argument is unknown, missing
  // or out of range.
  static absl::StatusOr<LearningRate> Create(const proto::Optimizer& config, double default_rate);

  // The rate at `step`, which must not be negative.
  float At(int64_t step) const { return static_cast<float>(function_(static_cast<double>(step))); }

 private:
  using Function = std::function<double(double step)>;

  explicit LearningRate(Function function) : function_(std::move(function)) {}
  static absl::StatusOr<Function> CreateSchedule(const proto::LearningRateSchedule& config);

  Function function_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_OPTIMIZERS_LEARNING_RATE_H_

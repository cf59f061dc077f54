#ifndef CAIRN_COORDINATOR_CALLBACKS_CALLBACK_H_
#define CAIRN_COORDINATOR_CALLBACKS_CALLBACK_H_

#include <cstdint>
#include <optional>
#include <string>

namespace cairn::coordinator {

// One epoch as a callback sees it.
struct EpochResult {
  int64_t epoch = 0;  // From the job's initial_epoch.
  // The monitored value; may be NaN.
  double value = 0;
  // The rate with which the epoch was trained; 0 if a schedule sets it.
  float learning_rate = 0;
};

// The decision of a callback.
struct CallbackDecision {
  bool stop = false;
  std::optional<float> learning_rate;  // From the next epoch on.
  std::string note;                    // For display; empty if nothing happened.
};

// The best epoch so far, from a callback that tracks it.
struct BestEpoch {
  int64_t epoch = 0;
  double value = 0;
  // Training ends with the values of this epoch, whatever came after.
  bool is_result = false;
};

// Decides at the end of every epoch, like Keras's callback of the same name (Keras 3.5,
// keras/src/callbacks). Deterministic: the same results give the same decisions, and replaying past
// results restores the state. Not thread-safe.
class Callback {
 public:
  virtual ~Callback() = default;

  // Call for each epoch in order. Epochs of which there is no value are left out.
  virtual CallbackDecision OnEpochEnd(const EpochResult& result) = 0;

  // nullopt if it tracks none, or has none yet.
  virtual std::optional<BestEpoch> best() const { return std::nullopt; }

  // Whether the next epoch must wait for its decision on this one.
  virtual bool changes_training() const = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_CALLBACK_H_

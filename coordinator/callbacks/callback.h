#ifndef CAIRN_COORDINATOR_CALLBACKS_CALLBACK_H_
#define CAIRN_COORDINATOR_CALLBACKS_CALLBACK_H_

#include <cstdint>
#include <optional>
#include <string>

namespace cairn::coordinator {

// One epoch as a callback sees it.
struct EpochResult {
  int64_t epoch = 0;  // From 0.
  // What the callback monitors; may be NaN.
  double value = 0;
  // With which the epoch was trained; 0: a schedule makes it.
  float learning_rate = 0;
};

// What a callback wants.
struct Verdict {
  bool stop = false;
  std::optional<float> learning_rate;  // From the next epoch on.
  std::string note;                    // For people; empty: nothing happened.
};

// The best epoch so far, by a callback that keeps it.
struct BestEpoch {
  int64_t epoch = 0;
  double value = 0;
  // Training ends with its values, whatever came after.
  bool is_result = false;
};

// Decides at the end of every epoch, as Keras's callback of the same name does (Keras 3.5,
// keras/src/callbacks). A pure machine: the same results give the same verdicts, and a new machine
// that is given the past ones stands where the old one stood. Not thread-safe.
class Callback {
 public:
  virtual ~Callback() = default;

  // Each epoch in turn, from epoch 0 on.
  virtual Verdict OnEpochEnd(const EpochResult& result) = 0;

  // nullopt: it keeps none, or has none yet.
  virtual std::optional<BestEpoch> best() const { return std::nullopt; }

  // The next epoch may not begin before its verdict on this one.
  virtual bool changes_training() const = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_CALLBACK_H_

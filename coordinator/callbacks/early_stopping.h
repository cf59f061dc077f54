#ifndef CAIRN_COORDINATOR_CALLBACKS_EARLY_STOPPING_H_
#define CAIRN_COORDINATOR_CALLBACKS_EARLY_STOPPING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "coordinator/callbacks/callback.h"
#include "coordinator/callbacks/improvement.h"

namespace cairn::coordinator {

// Keras's EarlyStopping: stops after `patience` epochs without an improvement of the monitored
// value (at least one: the first epoch never stops). An improvement that does not pass `baseline`
// becomes the best value but does not reset the patience.
class EarlyStopping final : public Callback {
 public:
  struct Options {
    std::string monitor;  // For notes.
    Improvement improves{false, 0};
    int64_t patience = 0;
    std::optional<double> baseline;
    bool restore_best_weights = false;
    int64_t start_from_epoch = 0;  // Earlier epochs are ignored.
  };

  explicit EarlyStopping(Options options)
      : options_(std::move(options)), best_(options_.improves.worst()) {}

  CallbackDecision OnEpochEnd(const EpochResult& result) override;
  std::optional<BestEpoch> best() const override;
  bool changes_training() const override { return true; }

 private:
  const Options options_;
  double best_;
  int64_t best_epoch_ = 0;
  // Whether an epoch was seen. The first one is the best until there is a better one.
  bool has_epoch_ = false;
  int64_t wait_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_EARLY_STOPPING_H_

#ifndef CAIRN_COORDINATOR_CALLBACKS_REDUCE_ON_PLATEAU_H_
#define CAIRN_COORDINATOR_CALLBACKS_REDUCE_ON_PLATEAU_H_

#include <cstdint>
#include <string>

#include "coordinator/callbacks/callback.h"

namespace cairn::coordinator {

// Keras's ReduceLROnPlateau: multiplies the learning rate by `factor` after `patience` epochs
// without an improvement, then waits for `cooldown` epochs.
class ReduceOnPlateau final : public Callback {
 public:
  struct Options {
    std::string monitor;  // For notes.
    bool larger_is_better = false;
    // Applied to the reference, as in Keras (see Improvement for the other rule).
    double min_delta = 1e-4;
    double factor = 0.1;
    int64_t patience = 10;
    int64_t cooldown = 0;
    double min_lr = 0;
  };

  explicit ReduceOnPlateau(Options options);

  CallbackDecision OnEpochEnd(const EpochResult& result) override;
  bool changes_training() const override { return true; }

 private:
  bool Improves(double value) const;

  const Options options_;
  double best_;
  int64_t wait_ = 0;
  int64_t cooldown_left_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_REDUCE_ON_PLATEAU_H_

#ifndef CAIRN_COORDINATOR_CALLBACKS_BEST_CHECKPOINT_KEEPER_H_
#define CAIRN_COORDINATOR_CALLBACKS_BEST_CHECKPOINT_KEEPER_H_

#include <optional>

#include "coordinator/callbacks/callback.h"
#include "coordinator/callbacks/improvement.h"

namespace cairn::coordinator {

// Keras's ModelCheckpoint with save_best_only: keeps the checkpoint of the best epoch so far.
// (Without save_best_only every epoch is saved, which Cairn does anyway.)
class BestCheckpointKeeper final : public Callback {
 public:
  // `threshold`: an epoch is kept only if it is better than this; absent: the first one is.
  BestCheckpointKeeper(const Improvement& improves, std::optional<double> threshold)
      : improves_(improves), best_value_(threshold.value_or(improves.worst())) {}

  CallbackDecision OnEpochEnd(const EpochResult& result) override;
  std::optional<BestEpoch> best() const override { return best_; }
  bool changes_training() const override { return false; }

 private:
  const Improvement improves_;
  double best_value_;
  std::optional<BestEpoch> best_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_BEST_CHECKPOINT_KEEPER_H_

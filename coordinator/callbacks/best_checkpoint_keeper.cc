#include "coordinator/callbacks/best_checkpoint_keeper.h"

namespace cairn::coordinator {

CallbackDecision BestCheckpointKeeper::OnEpochEnd(const EpochResult& result) {
  if (improves_(result.value, best_value_)) {
    best_value_ = result.value;
    best_ = BestEpoch{result.epoch, result.value, /*is_result=*/false};
  }
  return {};
}

}  // namespace cairn::coordinator

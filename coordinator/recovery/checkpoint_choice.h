#ifndef CAIRN_COORDINATOR_RECOVERY_CHECKPOINT_CHOICE_H_
#define CAIRN_COORDINATOR_RECOVERY_CHECKPOINT_CHOICE_H_

#include <cstdint>
#include <set>
#include <vector>

#include "absl/types/span.h"
#include "coordinator/recovery/snapshot_survey.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// From which checkpoint a job goes on.
struct CheckpointChoice {
  // 0: none is left, the job begins again from its initial values.
  uint64_t checkpoint = 0;
  // Of each part of it that holds blocks, who can read it.
  std::vector<proto::SnapshotSource> parts;
  // Its snapshots do not lie where a checkpoint of this cluster would have them: some are missing,
  // or without their copies, or blocks belong to other ps now.
  bool scattered = false;
  // Ps of this cluster that do not have their own part of the newest checkpoint.
  std::set<uint32_t> without;
  // Not empty: nothing is chosen. The newest checkpoint lies with these ps, of which the cluster
  // has none, and with nobody else.
  std::set<uint32_t> awaited;
};

// The newest checkpoint of which every part is with somebody. A part that only a ps of this cluster
// could have, and that it does not have, is lost; one whose ps is not in the cluster may come back.
// `manifests`: oldest first; damaged ones are passed over. `survey` is complete. `copies`: on how
// many ps a snapshot should lie.
CheckpointChoice ChooseCheckpoint(absl::Span<const proto::Manifest> manifests,
                                  const SnapshotSurvey& survey, uint32_t ps_count, int64_t copies);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_CHECKPOINT_CHOICE_H_

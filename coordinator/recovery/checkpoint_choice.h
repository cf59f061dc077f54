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

// The checkpoint from which a job continues.
struct CheckpointChoice {
  // 0: none is left; the job starts again from its initial values.
  uint64_t checkpoint = 0;
  // For each of its parts that has blocks, the ps that can read it.
  std::vector<proto::SnapshotSource> parts;
  // Its snapshots are not stored as a new checkpoint of this cluster would be: some or their copies
  // are missing, or blocks have moved to other ps.
  bool scattered = false;
  // The ps of this cluster that lack their own part of the newest checkpoint.
  std::set<uint32_t> without;
  // Not empty: nothing is chosen yet. Parts of the newest checkpoint exist only on these ps, which
  // are absent, not in the cluster, or whose disks hang.
  std::set<uint32_t> awaited;
};

// Returns the newest checkpoint of which every part is readable. A missing part of a ps in this
// cluster is lost; one of a ps outside the cluster may come back. If a disk hangs or a ps is absent
// (see SnapshotSurvey), a part may be there: an older checkpoint is taken if there is one, but
// never the initial values. `manifests`: oldest first; damaged ones are skipped. `survey` must be
// complete. `copies`: the number of ps that should store each snapshot.
CheckpointChoice ChooseCheckpoint(absl::Span<const proto::Manifest> manifests,
                                  const SnapshotSurvey& survey, uint32_t ps_count, int64_t copies);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_CHECKPOINT_CHOICE_H_

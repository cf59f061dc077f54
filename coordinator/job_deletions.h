#ifndef CAIRN_COORDINATOR_JOB_DELETIONS_H_
#define CAIRN_COORDINATOR_JOB_DELETIONS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/membership.h"
#include "coordinator/outbox.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// Jobs that were deleted, until nothing is left of them. A job is gone for everybody at once; its
// history leaves the journal a few thousand records at a time, so that nobody waits for millions,
// and each ps that ever had snapshots of it is told to drop them, at once, when it joins, and every
// few seconds, until it has answered that it has none left. A ps that the cluster does not have now
// does it when there are as many ps again. What is still to be done is journalled: the next
// coordinator goes on with it. A pure machine but for reading the journal; not thread-safe.
class JobDeletions {
 public:
  // Both outlive it. `begun`: what the journal has (storage::ReadDeletedJobs).
  JobDeletions(const storage::Journal* journal, const Membership* members,
               const std::vector<proto::DeletedJob>& begun);

  // A job that is over, and that nobody will speak of again, with its checkpoints; it was never
  // partitioned over more than `ps_count` ps, however many there are now.
  void Begin(uint64_t job_id, const std::vector<proto::Manifest>& manifests, uint32_t ps_count,
             Outbox* outbox);

  void PsJoined(uint32_t ps, Outbox* outbox);
  // What a ps has of a job. If that was deleted, and nothing of it lies on the ps's own disk any
  // more, the ps has done its part.
  void OnSnapshots(uint32_t ps, const proto::SnapshotList& list, Outbox* outbox);

  // Erases some of what is left, and asks ps again. To be called on ticks; `now` is monotonic.
  void Advance(absl::Duration now, Outbox* outbox);

 private:
  struct Deletion {
    proto::DeletedJob record;
    bool is_erased = false;  // Nothing of it is left in the journal but the record.
    // Not before these the history is read, and ps are told, again.
    absl::Duration read_at = -absl::InfiniteDuration();
    absl::Duration tell_at = absl::InfiniteDuration();
  };

  // False: it cannot be read now.
  bool Erase(Deletion* deletion, absl::Duration now, Outbox* outbox);
  // Those of the pending ps that are there.
  void TellPending(Deletion* deletion, absl::Duration now, Outbox* outbox);

  const storage::Journal& journal_;
  const Membership& members_;
  std::map<uint64_t, Deletion> deletions_;  // By job.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_DELETIONS_H_

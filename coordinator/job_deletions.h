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

namespace cairn::coordinator {

// Finishes the deletion of jobs. A deleted job and its history disappear from the journal at once.
// Each ps that ever had snapshots of the job is told to delete them: at once, when it joins, and
// every few seconds, until it replies that it has none left. A ps outside the current cluster is
// told once the cluster has that many ps again. Pending work is journaled, and the next coordinator
// process continues it.
//
// Pure state machine, not thread-safe.
class JobDeletions {
 public:
  // `members` must outlive it. `begun`: the pending deletions from the journal
  // (storage::ReadDeletedJobs).
  JobDeletions(const Membership* members, const std::vector<proto::DeletedJob>& begun);

  // Begins to delete a job that is over and already removed from the scheduler, with its
  // checkpoints. `ps_count`: the largest number of ps that it was ever partitioned over.
  void Begin(uint64_t job_id, const std::vector<proto::Manifest>& manifests, uint32_t ps_count,
             Outbox* outbox);

  void PsJoined(uint32_t ps, Outbox* outbox);
  // A ps reports its snapshots of a job. If the job is deleted and none is left on the ps's own
  // disk, the ps is done.
  void OnSnapshots(uint32_t ps, const proto::SnapshotList& list, Outbox* outbox);

  // Tells pending ps again. Call on ticks; `now` is monotonic.
  void Advance(absl::Duration now, Outbox* outbox);

 private:
  struct Deletion {
    proto::DeletedJob record;
    // When the ps are told again.
    absl::Duration tell_at = absl::InfiniteDuration();
  };

  // Tells the live ones among the pending ps.
  void TellPending(Deletion* deletion, absl::Duration now, Outbox* outbox);

  const Membership& members_;
  std::map<uint64_t, Deletion> deletions_;  // By job.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_DELETIONS_H_

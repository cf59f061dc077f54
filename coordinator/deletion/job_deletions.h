#ifndef CAIRN_COORDINATOR_DELETION_JOB_DELETIONS_H_
#define CAIRN_COORDINATOR_DELETION_JOB_DELETIONS_H_

#include <cstdint>
#include <map>
#include <vector>

#include "coordinator/membership.h"
#include "coordinator/outbox.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// Jobs that were deleted, until nothing is left of them. A job is gone for everybody at once; its
// history leaves the journal a few thousand records at a time, so that nobody waits for millions,
// and each ps is told to drop its snapshots until it has answered that it did, at once or when it
// joins. What is still to be done is journalled: the next coordinator goes on with it. A pure
// machine but for reading the journal; not thread-safe.
class JobDeletions {
 public:
  // Both outlive it. `begun`: what the journal has (storage::ReadDeletedJobs).
  JobDeletions(const storage::Journal* journal, const Membership* members,
               const std::vector<proto::DeletedJob>& begun);

  // A job that is over, and that nobody will speak of again.
  void Begin(uint64_t job_id, Outbox* outbox);

  void PsJoined(uint32_t ps, Outbox* outbox);
  // Its answer, if `list` is of a deleted job.
  void OnSnapshots(uint32_t ps, const proto::SnapshotList& list, Outbox* outbox);

  // Erases some of what is left. To be called on ticks.
  void Advance(Outbox* outbox);

 private:
  struct Deletion {
    proto::DeletedJob record;
    bool is_erased = false;  // Nothing of it is left in the journal but the record.
  };

  void Erase(Deletion* deletion, Outbox* outbox);

  const storage::Journal& journal_;
  const Membership& members_;
  std::map<uint64_t, Deletion> deletions_;  // By job.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_DELETION_JOB_DELETIONS_H_

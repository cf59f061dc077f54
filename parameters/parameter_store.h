#ifndef CAIRN_PARAMETERS_PARAMETER_STORE_H_
#define CAIRN_PARAMETERS_PARAMETER_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "parameters/job_blocks.h"
#include "parameters/replica_set.h"
#include "proto/coordinator.pb.h"

namespace cairn::parameters {

// The state of a job between two batches. It shares the blocks' buffers copy-on-write, so training
// continues while a cut exists. Immutable.
struct Cut {
  uint64_t id = 0;
  uint64_t generation = 0;
  std::shared_ptr<const JobLayout> layout;
  std::vector<BlockState> states;  // In the order of layout->blocks().
  proto::LedgerReply ledger;
};

// The state of a ps in memory: at most one job, in one generation, and at most one cut of it (which
// may take as much memory as the job). In a replicated job it has a replica of every other block,
// too, and keeps all of them when the generation ends (EndGeneration). Rejects requests for another
// job or generation. Thread-safe. The methods that change it (Install, Drop, EndGeneration,
// MakeCut, DropCut) must be called on one thread, which is not an owner thread; they may wait for
// the owner threads.
class ParameterStore {
 public:
  struct Counters {
    std::atomic<int64_t> pulls = 0;
    std::atomic<int64_t> pushes = 0;
    std::atomic<uint64_t> duplicates_refused = 0;  // Counted for each block.
    std::atomic<uint64_t> invalid_requests = 0;    // Of this process.
  };

  explicit ParameterStore(uint32_t ps) : ps_(ps) {}
  ~ParameterStore();
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  // Returns the job. FailedPrecondition: another job or generation, or no job, is in memory; the
  // message names both.
  absl::StatusOr<std::shared_ptr<JobBlocks>> Find(uint64_t job_id, uint64_t generation) const;

  // Returns the replicas of the job. FailedPrecondition: as Find, or the job has none.
  absl::StatusOr<std::shared_ptr<JobBlocks>> FindReplicas(uint64_t job_id,
                                                          uint64_t generation) const;

  // Returns null if there is no job.
  std::shared_ptr<JobBlocks> current() const;

  // Summarizes the ledgers of the current job; a default reply if there is none. Waits for the
  // owner threads.
  proto::LedgerReply Ledgers() const;

  // Replaces the current job, cut and kept replicas. `replicas` is null unless the job is
  // replicated.
  void Install(std::shared_ptr<JobBlocks> job, std::shared_ptr<JobBlocks> replicas = nullptr);

  // Removes the job, the cut and the kept replicas. Parked calls are answered with `why`.
  void Drop(const absl::Status& why);

  // Ends the generation of a replicated job: as Drop, but keeps its blocks and replicas, which
  // change no more. Does nothing if there is no such job.
  void EndGeneration(const absl::Status& why);
  // What this ps has of a replicated job in memory: what EndGeneration kept, or the current blocks.
  // Null if there is nothing. Waits for the owner threads.
  std::shared_ptr<const ReplicaSet> replicas() const;

  // Takes a cut of the current values, and drops an earlier cut: the coordinator no longer needs it
  // when it requests another, even if the command to drop it was lost. Returns the existing cut if
  // it has the same number. FailedPrecondition: as Find, or a cut with a higher number exists.
  absl::StatusOr<std::shared_ptr<const Cut>> MakeCut(uint64_t job_id, uint64_t generation,
                                                     uint64_t cut);
  // FailedPrecondition: as Find. NotFound: the cut was dropped or never taken.
  absl::StatusOr<std::shared_ptr<const Cut>> FindCut(uint64_t job_id, uint64_t generation,
                                                     uint64_t cut) const;
  // Dropping a cut that does not exist is not an error.
  void DropCut(uint64_t job_id, uint64_t cut);

  // Counters of the current job, over all of its generations in this process.
  const Counters& counters() const { return counters_; }
  Counters& counters() { return counters_; }

 private:
  // Returns the cut with this number, or null after dropping an earlier one.
  absl::StatusOr<std::shared_ptr<const Cut>> FindCutOrDropOlder(uint64_t job_id, uint64_t cut);
  absl::Status Check(uint64_t job_id, uint64_t generation) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t ps_;
  Counters counters_;
  mutable Mutex mutex_;
  std::shared_ptr<JobBlocks> job_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<JobBlocks> replicas_ ABSL_GUARDED_BY(mutex_);     // Of job_; may be null.
  std::shared_ptr<const ReplicaSet> kept_ ABSL_GUARDED_BY(mutex_);  // Only if job_ is null.
  std::shared_ptr<const Cut> cut_ ABSL_GUARDED_BY(mutex_);          // Null if there is none.
  uint64_t counted_job_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_PARAMETER_STORE_H_

#ifndef CAIRN_PS_SERVER_PARAMETER_STORE_H_
#define CAIRN_PS_SERVER_PARAMETER_STORE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "proto/coordinator.pb.h"
#include "ps_server/job_blocks.h"

namespace cairn::ps {

// The values of a job at one moment, kept while training goes on: it shares the blocks' buffers,
// which are written elsewhere from then on. Immutable.
struct Cut {
  uint64_t id = 0;
  uint64_t generation = 0;
  std::shared_ptr<const JobLayout> layout;
  std::vector<BlockState> states;  // In the order of layout->blocks().
  proto::LedgerReply ledger;
};

// What this ps has in memory: at most one job, in one generation, and one cut of it (which may
// come to cost as much memory as the job). Keeps out whoever
// speaks of another job or generation. Thread-safe. The calls that change it (Install, Drop,
// MakeCut, DropCut) come from one thread, which is not an owner, and may wait for the owners.
class ParameterStore {
 public:
  struct Counters {
    std::atomic<int64_t> pulls = 0;
    std::atomic<int64_t> pushes = 0;
    std::atomic<uint64_t> duplicates_refused = 0;  // By block.
  };

  explicit ParameterStore(uint32_t ps) : ps_(ps) {}
  ~ParameterStore();
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  // The job if it is this one in this generation. FailedPrecondition names what was asked for and
  // what is here instead.
  absl::StatusOr<std::shared_ptr<JobBlocks>> Find(uint64_t job_id, uint64_t generation) const;

  // Null: there is none.
  std::shared_ptr<JobBlocks> current() const;

  // The ledgers of the present job now; a default reply if there is none. Waits for the owners.
  proto::LedgerReply Ledgers() const;

  // Puts `job` in the place of whatever was there.
  void Install(std::shared_ptr<JobBlocks> job);

  // Forgets job and cut; whoever waits for one of its blocks is answered with `why`.
  void Drop(const absl::Status& why);

  // Keeps the values as they are now, in the place of any earlier cut: whoever makes the next one
  // has done with that, also if the order to drop it was lost. The same number again gives the same
  // cut again. Errors: as Find; FailedPrecondition: a cut of a higher number is kept.
  absl::StatusOr<std::shared_ptr<const Cut>> MakeCut(uint64_t job_id, uint64_t generation,
                                                     uint64_t cut);
  // Errors: as Find; NotFound: it was dropped or never made.
  absl::StatusOr<std::shared_ptr<const Cut>> FindCut(uint64_t job_id, uint64_t generation,
                                                     uint64_t cut) const;
  // A cut that is not there is not an error.
  void DropCut(uint64_t job_id, uint64_t cut);

  // Of the present job since it came to this process.
  const Counters& counters() const { return counters_; }
  Counters& counters() { return counters_; }

 private:
  // The cut of this number if it is kept; else null, and an earlier one is forgotten.
  absl::StatusOr<std::shared_ptr<const Cut>> TakeOlderCut(uint64_t job_id, uint64_t cut);
  absl::Status Check(uint64_t job_id, uint64_t generation) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint32_t ps_;
  Counters counters_;
  mutable Mutex mutex_;
  std::shared_ptr<JobBlocks> job_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const Cut> cut_ ABSL_GUARDED_BY(mutex_);  // Null: none.
  uint64_t counted_job_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_PARAMETER_STORE_H_

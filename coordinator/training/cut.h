#ifndef CAIRN_COORDINATOR_TRAINING_CUT_H_
#define CAIRN_COORDINATOR_TRAINING_CUT_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "coordinator/task.h"
#include "coordinator/training/applied_batches.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Why a cut is made and what happens to it afterwards.
struct CutPurpose {
  std::string reason;  // As Manifest.reason.
  bool persist = false;
  bool evaluate = false;
  // The epoch that the cut ends; -1: none.
  int64_t epoch = -1;
};

// One attempt to make every ps keep its values at the same point of the job. The phases: the
// workers come to rest, every ps cuts, and the ledgers are compared to see whether all blocks have
// the same batches.
//
// Pure state machine: it reports what it waits for and sends nothing. Not thread-safe.
class Cut {
 public:
  // `hold`: the number of the hold commands sent to the workers. `end`: batches below it are
  // finished before the cut; nothing at or above it is leased meanwhile.
  Cut(CutPurpose purpose, uint64_t hold, int64_t end)
      : purpose_(std::move(purpose)), hold_(hold), end_(end) {}

  void AwaitHeld(TaskId worker) { holding_.insert(worker); }
  // Returns false for a reply to an older hold, or from a worker that was not awaited.
  bool Held(TaskId worker, uint64_t hold);
  void WorkerGone(TaskId worker) { holding_.erase(worker); }
  bool holding() const { return !holding_.empty(); }
  const std::set<TaskId>& holding_workers() const { return holding_; }

  // Every one of `ps_count` ps was told to cut under this number.
  void Begin(uint64_t cut, uint32_t ps_count);
  bool begun() const { return cut_ != 0; }
  void Reply(uint32_t ps, const proto::CutReply& reply);
  bool complete() const { return begun() && replies_.size() == ps_count_; }
  bool Awaits(uint32_t ps) const { return begun() && !replies_.contains(ps); }

  // Combines the ledgers of all ps. Requires complete(). An error is the reply of a ps, which it
  // names.
  absl::StatusOr<AppliedBatches> Result(int64_t total_batches) const;

  const CutPurpose& purpose() const { return purpose_; }
  uint64_t hold() const { return hold_; }
  uint64_t cut() const { return cut_; }
  int64_t end() const { return end_; }

 private:
  const CutPurpose purpose_;
  const uint64_t hold_;
  const int64_t end_;
  std::set<TaskId> holding_;
  uint64_t cut_ = 0;
  uint32_t ps_count_ = 0;
  std::map<uint32_t, proto::CutReply> replies_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CUT_H_

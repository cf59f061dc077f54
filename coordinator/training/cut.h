#ifndef CAIRN_COORDINATOR_TRAINING_CUT_H_
#define CAIRN_COORDINATOR_TRAINING_CUT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/outbox.h"
#include "coordinator/task.h"
#include "coordinator/training/applied_batches.h"
#include "coordinator/training/split_queue.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Why a cut is made and what happens to it afterwards.
struct CutPurpose {
  std::string reason;  // As Manifest.reason.
  bool evaluate = false;
  // The epoch that the cut ends; -1: none.
  int64_t epoch = -1;
  bool persist = true;  // A checkpoint is written.
};

// Tells every ps to free this cut; 0: there is none.
void DropCut(const proto::JobPlan& plan, uint64_t cut, Outbox* outbox);

// One attempt to make every ps keep its values at the same point of the job:
//
//   Begin      the workers come to rest
//   Make       when AtRest(): every ps cuts
//   Result     when complete(): whether all blocks have the same batches
//
// Pure state machine, not thread-safe.
class Cut {
 public:
  // Whether the job's workers can pause: they return the batches that they have not started. In
  // synchronous and stale jobs they cannot, because the batches of a worker wait for those of
  // others: all leased batches are finished instead.
  static bool WorkersPause(const proto::JobPlan& plan) {
    return !plan.synchronous() && plan.window() < 0;
  }

  // `plan` and `queue` must outlive the cut. The cut falls into the epoch of batches
  // [`epoch_begin`, `epoch_end`). `pause`: the number of the commands to the workers; never reused.
  Cut(const proto::JobPlan* plan, uint64_t generation, SplitQueue* queue, CutPurpose purpose,
      int64_t epoch_begin, int64_t epoch_end, uint64_t pause);

  // Brings the workers to rest: limits the queue to end(), and tells the workers that have leases
  // to pause.
  void Begin(Outbox* outbox);
  void Paused(TaskId worker, uint64_t pause);
  void WorkerGone(TaskId worker) { pausing_.erase(worker); }
  bool AtRest() const;

  // Tells every ps to cut under this number.
  void Make(uint64_t cut, Outbox* outbox);
  bool made() const { return cut_ != 0; }
  // Ignores replies of another cut or generation.
  void Reply(uint32_t ps, const proto::CutReply& reply);
  bool complete() const { return made() && replies_.size() == members_.size(); }

  // When the wait for the workers or, once made, for the ps began: the time of the first call. The
  // limits of these waits are the caller's.
  absl::Duration phase_begun_at(absl::Duration now);
  // Replies for the ps that have not replied.
  void GiveUpPs(const std::string& why);
  // The workers that have not paused. They are not awaited any longer.
  std::set<TaskId> TakePausing() { return std::exchange(pausing_, {}); }

  // Combines the ledgers of all ps. Requires complete(). An error is the reply of a ps, which it
  // names.
  absl::StatusOr<AppliedBatches> Result() const;
  // Whether the cut is usable: every batch is applied on all blocks or on none. A cut at an epoch's
  // end must also have all batches below it: the epoch is evaluated and never trained again.
  // Elsewhere unapplied batches are just recorded as open in the checkpoint.
  bool Consistent(const AppliedBatches& applied) const;
  // The record of the cut, which is to be written and, for some purposes, evaluated.
  proto::KeptCut Record(const AppliedBatches& applied) const;

  const CutPurpose& purpose() const { return purpose_; }
  uint64_t cut() const { return cut_; }
  // Batches below it are finished before the cut; nothing at or above it is leased meanwhile.
  int64_t end() const { return end_; }
  bool leasing_paused() const { return made() || WorkersPause(plan_); }
  // "for worker 1 to finish its batch ..."; empty if it waits for leased batches only.
  std::string NextNeeded() const;

 private:
  const proto::JobPlan& plan_;
  const std::vector<uint32_t> members_;  // The ps that take part.
  const uint64_t generation_;
  SplitQueue& queue_;
  const CutPurpose purpose_;
  const int64_t end_;
  const uint64_t pause_;
  std::set<TaskId> pausing_;
  uint64_t cut_ = 0;
  std::optional<absl::Duration> phase_begun_at_;
  std::map<uint32_t, proto::CutReply> replies_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CUT_H_

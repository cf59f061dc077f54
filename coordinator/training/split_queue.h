#ifndef CAIRN_COORDINATOR_TRAINING_SPLIT_QUEUE_H_
#define CAIRN_COORDINATOR_TRAINING_SPLIT_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "coordinator/task.h"
#include "coordinator/training/batch_ranges.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A ledger's bitmap covers so many batches above its low-water mark; nothing further is leased.
inline constexpr int64_t kLeasedAheadMax = 65536;

struct SplitQueueOptions {
  int64_t batches_per_epoch = 1;
  int64_t total_batches = 0;
  // The job's consistency, as in JobPlan.
  bool synchronous = false;
  int64_t batches_per_update = 1;
  int64_t window = -1;
  // How much work a worker should have on hand, and how many batches until its speed is known.
  absl::Duration on_hand = absl::Seconds(1);
  int64_t first_batches = 8;
  // A worker that says it has nothing so long after its last grant has lost track of its leases.
  absl::Duration confusion_timeout = absl::Seconds(2);
};

// Which batch is whose: every batch of the job is open, leased to one worker, or done (reported;
// the ledgers have the last word, see Reopen). A pure machine, not thread-safe. Costs memory by
// the number of leased batches (at most kLeasedAheadMax), never by the size of the job.
//
// The lowest open batches are leased first. An asynchronous job leases runs. Where a batch has to
// wait for lower ones (synchronous, stale) neighboring batches go to different workers: a lease is
// a column of every stride-th batch, so that all workers stay close to the low-water mark.
//
// A worker has work while it holds batches that it has not pushed yet. Pushed batches of a
// synchronous update that is not complete stay leased, but they do not count as work: a worker gets
// more until the update is complete, however many batches the update has.
//
// A report of one worker costs the same however many workers there are.
class SplitQueue {
 public:
  SplitQueue(SplitQueueOptions options, BatchRanges open);

  // Only batches below `limit` are leased. At first: none.
  void SetLimit(int64_t limit) { limit_ = limit; }
  int64_t limit() const { return limit_; }

  // What the worker has on hand, wants and is blocked on. Call Done with the batches of the same
  // report first. True if the worker has nothing although it should: then ask the ledgers, and
  // Reconcile.
  bool Report(TaskId worker, const proto::WorkReport& report, absl::Duration now);
  // `batches` was acknowledged on every block.
  void Done(TaskId worker, absl::Span<const int64_t> batches, absl::Duration now);
  // The worker gives back what it did not start.
  void Return(TaskId worker, absl::Span<const proto::Split> splits);
  // What is not in `open` is settled, whatever was reported; what workers have lost track of is
  // leased to others.
  void Reconcile(const BatchRanges& open);
  // The worker is gone: all that it had is open.
  void Drop(TaskId worker);
  // The worker had these before this queue existed. What is not open is left alone.
  void Adopt(TaskId worker, absl::Span<const proto::Split> splits);
  // The ledgers lack them, whatever was reported. What is leased stays leased.
  void Reopen(const BatchRanges& batches);

  // Leases as much to `worker` as it wants, is good for it and allowed. `workers` share the work.
  std::vector<proto::Split> Grant(TaskId worker, int64_t workers, absl::Duration now);
  // Whether anything could be leased now, to whom it is good for.
  bool AnyAllowed() const { return AnyOpenBelow(AllowedEnd()); }
  // Those whose last Grant gave them less than is good for them, for nothing more was allowed.
  const std::set<TaskId>& hungry() const { return hungry_; }

  // All batches below are done.
  int64_t LowWater() const;
  // One past the highest batch that is leased; 0 if none is.
  int64_t LeasedEnd() const;
  int64_t DoneCount() const { return options_.total_batches - open_.size() - leased_.size(); }
  bool AnyLeased() const { return !leased_.empty(); }
  bool AnyOpenBelow(int64_t limit) const { return !open_.empty() && open_.front() < limit; }
  std::vector<TaskId> Holders() const;
  // Who has it leased; nullopt: it is open or done.
  std::optional<TaskId> HolderOf(int64_t batch) const;
  // Those of `batches` that are not done.
  BatchRanges Unfinished(const BatchRanges& batches) const;
  const BatchRanges& open() const { return open_; }

 private:
  struct Worker {
    BatchRanges leased;
    int64_t wanted = 0;
    int64_t pushed = 0;  // Of `leased`, as of its last report.
    int64_t blocked_on = -1;
    double batches_per_second = 0;  // 0: not known yet.
    absl::Duration measured_at;     // Since when `done_since` counts, idle time left out.
    absl::Duration idle_since;      // When it last had nothing.
    int64_t done_since = 0;
    absl::Duration granted_at;
    bool confused = false;
  };

  int64_t AllowedEnd() const;
  int64_t Stride(int64_t workers) const;
  int64_t Target(const Worker& worker, int64_t workers) const;
  // Batches that the worker has still to compute.
  static int64_t OnHand(const Worker& worker) {
    return std::max<int64_t>(0, worker.leased.size() - worker.pushed);
  }
  void Measure(Worker* worker, int64_t done, absl::Duration now);
  // Leases up to `count` open batches below `end` to the worker, in columns of every stride-th.
  void Take(Worker* worker, int64_t count, int64_t stride, int64_t end,
            std::vector<proto::Split>* splits);
  void Lease(Worker* worker, int64_t begin, int64_t end);
  void Unlease(Worker* worker, int64_t begin, int64_t end);
  void ReturnAll(Worker* worker);

  const SplitQueueOptions options_;
  BatchRanges open_;
  std::map<TaskId, Worker> workers_;
  BatchRanges leased_;  // Of all workers together.
  std::set<TaskId> hungry_;
  int64_t limit_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_SPLIT_QUEUE_H_

#ifndef CAIRN_COORDINATOR_TRAINING_SPLIT_QUEUE_H_
#define CAIRN_COORDINATOR_TRAINING_SPLIT_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "coordinator/task.h"
#include "coordinator/training/batch_ranges.h"
#include "job/batch_groups.h"
#include "job/ledger_state.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// The number of batches above the low-water mark that a ledger's bitmap covers. Nothing beyond it
// is leased.
inline constexpr int64_t kLeasedAheadMax = job::kLedgerBatchesMax;

struct SplitQueueOptions {
  int64_t batches_per_epoch = 1;
  int64_t total_batches = 0;
  // The job's consistency, as in JobPlan.
  bool synchronous = false;
  int64_t batches_per_update = 1;
  int64_t window = -1;
  // Of an asynchronous job: batches that one worker should compute, because they read the same
  // files.
  job::BatchGroups groups;
  // The time that a worker's leased batches should last, and the number of batches leased until its
  // speed is known.
  absl::Duration on_hand = absl::Seconds(1);
  int64_t first_batches = 8;
  // A worker that reports fewer batches than its leases this long after its last grant lacks the
  // others.
  absl::Duration grant_arrives = absl::Seconds(2);
};

// Assigns batches to workers. Every batch of the job is open, leased to one worker, or done. "Done"
// is what workers reported; the ledgers overrule it (see Reopen and Reconcile).
//
// The lowest open batches are leased first. An asynchronous job leases runs of batches. If it has
// groups of batches, a worker claims the lowest group that no other one has claimed, and gets all
// of it. Only where every group below the limit is claimed does it get batches of another worker's
// group. Where a batch waits for lower ones (synchronous, stale), neighboring batches go to
// different workers: a lease is a column of every stride-th batch, so that all workers stay close
// to the low-water mark.
//
// A worker has work while it has batches that it has not pushed yet. Pushed batches of an
// incomplete synchronous update stay leased but do not count as work: the worker gets more until
// the update is complete, whatever the size of an update.
//
// Pure state machine, not thread-safe. Memory grows with the number of leased batches (at most
// kLeasedAheadMax), not with the size of the job. The cost of a worker's report does not depend on
// the number of workers.
class SplitQueue {
 public:
  SplitQueue(SplitQueueOptions options, BatchRanges open);

  // Only batches below `limit` are leased. Initially none.
  void SetLimit(int64_t limit) { limit_ = limit; }
  int64_t limit() const { return limit_; }

  // Records how much the worker has on hand, wants, and is blocked on. Call Done with the batches
  // of the same report first. Returns true if the worker has fewer batches than its leases: then
  // query the ledgers and call Reconcile. It drops a batch in silence if another worker's push of
  // it was applied and never reported.
  bool Report(TaskId worker, const proto::WorkReport& report, absl::Duration now);
  // Whether a report that the worker has done the batch may be true: others have done it, or the
  // worker has it leased, or had.
  bool MayReport(TaskId worker, int64_t batch) const;
  // An earlier coordinator process leased batches of this generation, to workers that may have done
  // them since the ledgers were asked. Call it first.
  void Resume();
  // `batches` are acknowledged on every block.
  void Done(TaskId worker, absl::Span<const int64_t> batches, absl::Duration now);
  // The worker has paused, and returns batches that it has not started. Does nothing and returns
  // false if no worker may have them, in any job.
  bool Return(TaskId worker, absl::Span<const proto::Split> splits);
  // Every batch outside `open` is applied, whatever was reported. Leases of workers that have
  // nothing are open again.
  void Reconcile(const BatchRanges& open);
  // The worker is gone: all its leases are open again.
  void Drop(TaskId worker);
  // The worker had these leases before this queue existed. Batches that are not open are skipped.
  // Does nothing and returns false if no worker may have them, in any job.
  bool Adopt(TaskId worker, absl::Span<const proto::Split> splits);
  // The ledgers lack these batches, whatever was reported. Leased ones stay leased.
  void Reopen(const BatchRanges& batches);

  // Of a job whose batches do not wait for each other: opens the leases of slow workers if one of
  // `workers`, which share the work, waits for them. Returns the slow workers. They have work, and
  // have done none of it for 10 median steps, and 1 s. Each may still do the batch that it
  // computes: the result that comes first counts. Tell them to pause. They get nothing until they
  // have (see Return).
  std::vector<TaskId> TakeFromSlow(const std::set<TaskId>& workers, absl::Duration now);
  // Leases to `worker` as much as it wants, can use and is allowed. `workers` share the work.
  std::vector<proto::Split> Grant(TaskId worker, int64_t workers, absl::Duration now);
  // Whether anything may be leased now, to any worker that can use it.
  bool AnyAllowed() const { return AnyOpenBelow(AllowedEnd()); }
  // Workers whose last Grant fell short of their target because nothing more was allowed.
  const std::set<TaskId>& underserved() const { return underserved_; }

  // All batches below it are done.
  int64_t LowWater() const;
  // One past the highest leased batch; 0 if none is leased.
  int64_t LeasedEnd() const;
  int64_t DoneCount() const { return options_.total_batches - open_.size() - leased_.size(); }
  bool AnyLeased() const { return !leased_.empty(); }
  bool AnyOpenBelow(int64_t limit) const { return !open_.empty() && open_.front() < limit; }
  std::vector<TaskId> WorkersWithLeases() const;
  // The worker has reported.
  bool Knows(TaskId worker) const { return workers_.contains(worker); }
  // The lowest batch that the worker has leased, or had when it was found slow; nullopt if there is
  // none.
  std::optional<int64_t> LowestOf(TaskId worker) const;
  // The worker that has `batch` leased; nullopt if it is open or done.
  std::optional<TaskId> OwnerOf(int64_t batch) const;
  // The median of the workers' times for a batch; zero if none is known.
  absl::Duration MedianStep() const;
  // The members of `batches` that are not done.
  BatchRanges Unfinished(const BatchRanges& batches) const;
  const BatchRanges& open() const { return open_; }

 private:
  struct Worker {
    BatchRanges leased;
    int64_t wanted = 0;
    int64_t queued = 0;  // How many of `leased` it has, as of its last report,
    int64_t pushed = 0;  // and how many it has pushed.
    int64_t blocked_on = -1;
    double batches_per_second = 0;  // 0: not known yet.
    absl::Duration measured_at;     // Start of `done_since`, moved past idle time.
    absl::Duration idle_since;      // When it last ran out of work.
    int64_t done_since = 0;
    absl::Duration granted_at;
    // When it last did a batch, or got work after it had none to compute.
    absl::Duration moved_at = absl::InfiniteDuration();
    bool lacks_leases = false;
    std::set<int64_t> groups;  // That it has claimed and that may have open batches.
  };

  int64_t AllowedEnd() const;
  int64_t Stride(int64_t workers) const;
  int64_t Target(const Worker& worker, int64_t workers) const;
  // Leased batches that the worker still has to compute.
  static int64_t OnHand(const Worker& worker) {
    return std::max<int64_t>(0, worker.leased.size() - worker.pushed);
  }
  void Measure(Worker* worker, int64_t done, absl::Duration now);
  // Leases to the worker up to `count` open batches below `end`, in columns of every stride-th.
  void Take(TaskId id, Worker* worker, int64_t count, int64_t stride, int64_t end,
            std::vector<proto::Split>* splits);
  // The next open batches below `end` that the worker should get, [begin, end). Requires one.
  std::pair<int64_t, int64_t> NextRun(TaskId id, Worker* worker, int64_t end);
  std::optional<std::pair<int64_t, int64_t>> NextOfOwnGroups(Worker* worker, int64_t end) const;
  std::optional<std::pair<int64_t, int64_t>> ClaimGroup(TaskId id, Worker* worker, int64_t end);
  void Lease(Worker* worker, int64_t begin, int64_t end);
  void Unlease(Worker* worker, int64_t begin, int64_t end);
  void ReturnAll(TaskId id, Worker* worker);
  void Open(const BatchRanges& batches);

  const SplitQueueOptions options_;
  BatchRanges open_;
  std::map<TaskId, Worker> workers_;
  BatchRanges leased_;  // Of all workers together.
  // Batches that were taken from a worker, which may have done them.
  std::map<TaskId, BatchRanges> taken_;
  // Batches that an earlier coordinator process may have leased, nobody knows to whom.
  BatchRanges leased_before_;
  std::set<TaskId> underserved_;
  std::set<TaskId> slow_;  // Their leases went to others. They have not paused yet.
  int64_t limit_ = 0;
  // The claimed groups that are not done.
  std::map<int64_t, TaskId> owners_;
  // The open batches below it are in claimed groups.
  int64_t unclaimed_from_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_SPLIT_QUEUE_H_

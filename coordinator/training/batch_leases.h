#ifndef CAIRN_COORDINATOR_TRAINING_BATCH_LEASES_H_
#define CAIRN_COORDINATOR_TRAINING_BATCH_LEASES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/task.h"
#include "coordinator/training/batch_ranges.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Leases the batches of a forward pass over data to workers, so that each batch is done once. A
// batch that a worker has not reported for a minute is leased to another one too; the first result
// counts. Pure state machine, not thread-safe.
class BatchLeases {
 public:
  // Batches [begin, end).
  BatchLeases(int64_t begin, int64_t end) : open_(begin, end), missing_(begin, end) {}

  // Leases batches below `limit`, the lowest first, to a worker that has less than its target on
  // hand: about half a second of work. `workers` share the work.
  std::vector<proto::Split> Grant(TaskId worker, int64_t workers, int64_t limit,
                                  absl::Duration now);
  enum class Result {
    kNotLeased,  // The batch was not leased to this worker, or was reported by it before.
    kRepeated,   // Another result came before.
    kFirst,      // It counts, also if it was leased more than a minute ago.
  };
  // A worker has done a batch.
  Result Done(TaskId worker, int64_t batch, absl::Duration now);
  // The worker is gone: its leases are open again.
  void Drop(TaskId worker);

  // The leases of a worker that hangs are open again. Its results still count if they come first.
  void TakeBack(TaskId worker);

  // The number of batches that the worker has on hand.
  int64_t leased(TaskId worker) const;
  // The lowest of them; nullopt if it has none.
  std::optional<int64_t> LowestOf(TaskId worker) const;
  // The number of batches that are not done.
  int64_t missing() const { return missing_.size(); }

 private:
  struct Worker {
    BatchRanges leased;
    BatchRanges taken_back;  // Missing when they were taken back; the worker may still report them.
    absl::Duration granted_at;  // Start of the current measurement: granted when idle.
    int64_t done_since = 0;
    absl::Duration heard_at;  // Its last grant or report.
  };

  void TakeBackForgotten(absl::Duration now);
  void TakeBackFrom(Worker* worker);
  int64_t Target(const Worker& worker, int64_t workers, int64_t limit, absl::Duration now) const;

  BatchRanges open_;     // Not leased and not done.
  BatchRanges missing_;  // Not done.
  std::map<TaskId, Worker> workers_;
  absl::Duration looked_for_forgotten_at_ = -absl::InfiniteDuration();
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_BATCH_LEASES_H_

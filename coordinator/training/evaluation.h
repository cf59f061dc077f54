#ifndef CAIRN_COORDINATOR_TRAINING_EVALUATION_H_
#define CAIRN_COORDINATOR_TRAINING_EVALUATION_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/task.h"
#include "coordinator/training/batch_ranges.h"
#include "coordinator/training/metric_sums.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// The validation data on one cut: batches handed out to workers, each counted exactly once, and
// summed in batch order, so that the result depends neither on who did what nor on when. A pure
// machine, not thread-safe. What a worker does not report for a minute is given to others as well.
class Evaluation {
 public:
  // `batches` at least 1; `metrics`: the job's, of no batch.
  Evaluation(uint64_t cut, int64_t epoch, int64_t batches, MetricSums metrics);

  // Leases batches to a worker that has fewer than its share on hand; `workers` share the work.
  std::vector<proto::Split> Grant(TaskId worker, int64_t workers, absl::Duration now);
  // A batch that was reported before, or that cannot be, changes nothing.
  void Done(TaskId worker, const proto::EvaluatedBatch& batch, absl::Duration now);
  // The worker is gone: what it had is open.
  void Drop(TaskId worker);

  bool done() const { return done_count_ == static_cast<int64_t>(results_.size()); }
  // The mean loss and the metrics over all examples; done() only.
  proto::EvaluationRecord Result() const;

  int64_t done_count() const { return done_count_; }
  uint64_t cut() const { return cut_; }
  int64_t epoch() const { return epoch_; }

 private:
  struct Worker {
    BatchRanges leased;
    absl::Duration granted_at;  // When it last got something while it had nothing.
    int64_t done_since = 0;
    absl::Duration heard_at;  // When it last got or reported something.
  };
  struct Batch {
    int64_t examples = -1;  // Not reported yet.
    double loss = 0;
    MetricSums::States states;  // Until they are summed.
  };

  void TakeBackForgotten(absl::Duration now);
  void Reopen(const BatchRanges& leased);
  // Adds what has come of the batches that follow those summed.
  void Sum();
  int64_t Target(const Worker& worker, int64_t workers, absl::Duration now) const;

  const uint64_t cut_;
  const int64_t epoch_;
  absl::Duration looked_for_forgotten_at_ = -absl::InfiniteDuration();
  BatchRanges open_;
  std::map<TaskId, Worker> workers_;
  std::vector<Batch> results_;
  int64_t done_count_ = 0;
  // Of the first batches, in their order.
  int64_t summed_ = 0;
  int64_t examples_ = 0;
  double loss_ = 0;
  MetricSums metrics_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_EVALUATION_H_

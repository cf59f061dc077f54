#ifndef CAIRN_COORDINATOR_TRAINING_EVALUATION_ROUND_H_
#define CAIRN_COORDINATOR_TRAINING_EVALUATION_ROUND_H_

#include <cstdint>
#include <map>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/task.h"
#include "coordinator/training/batch_ranges.h"
#include "coordinator/training/metric_sums.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Evaluates the validation data on one cut. Batches are leased to workers, each is counted exactly
// once, and results are summed in batch order, so the result depends neither on which worker
// computed a batch nor on when. Batches that a worker has not reported for a minute are leased to
// others too. Pure state machine, not thread-safe.
class EvaluationRound {
 public:
  // Evaluates all validation data of the plan, of which there are some, on this cut.
  EvaluationRound(const proto::JobPlan& plan, const proto::KeptCut& cut);

  // Leases batches to a worker that has less than its target on hand. `workers` share the work.
  std::vector<proto::Split> Grant(TaskId worker, int64_t workers, absl::Duration now);
  // Ignores a batch that was reported before or is invalid.
  void Done(TaskId worker, const proto::EvaluatedBatch& batch, absl::Duration now);
  // The worker is gone: its leases are open again.
  void Drop(TaskId worker);

  bool done() const { return done_count_ == static_cast<int64_t>(results_.size()); }
  // The mean loss and the metrics over all examples. Requires done().
  proto::EvaluationRecord Result() const;

  int64_t done_count() const { return done_count_; }
  uint64_t cut() const { return cut_; }
  int64_t epoch() const { return epoch_; }

 private:
  struct Worker {
    BatchRanges leased;
    absl::Duration granted_at;  // Start of the current measurement: granted when idle.
    int64_t done_since = 0;
    absl::Duration heard_at;  // Its last grant or report.
  };
  struct Batch {
    int64_t examples = -1;  // -1: not reported yet.
    double loss = 0;
    MetricSums::States states;  // Cleared once summed.
    bool data_not_finite = false;
  };

  void TakeBackForgotten(absl::Duration now);
  void Reopen(const BatchRanges& leased);
  // Adds the results that directly follow those already summed.
  void Sum();
  int64_t Target(const Worker& worker, int64_t workers, absl::Duration now) const;

  const uint64_t cut_;
  const int64_t epoch_;
  absl::Duration looked_for_forgotten_at_ = -absl::InfiniteDuration();
  BatchRanges open_;
  std::map<TaskId, Worker> workers_;
  std::vector<Batch> results_;
  int64_t done_count_ = 0;
  // Sums over batches [0, summed_), added in batch order.
  int64_t summed_ = 0;
  int64_t examples_ = 0;
  double loss_ = 0;
  bool data_not_finite_ = false;
  MetricSums metrics_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_EVALUATION_ROUND_H_

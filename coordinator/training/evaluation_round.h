#ifndef CAIRN_COORDINATOR_TRAINING_EVALUATION_ROUND_H_
#define CAIRN_COORDINATOR_TRAINING_EVALUATION_ROUND_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "coordinator/task.h"
#include "coordinator/training/batch_leases.h"
#include "coordinator/training/metric_sums.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Evaluates the validation data on one cut. Batches are leased to workers (BatchLeases), each is
// counted exactly once, and results are summed in batch order, so the result depends neither on
// which worker computed a batch nor on when. Pure state machine, not thread-safe.
class EvaluationRound {
 public:
  // Evaluates all validation data of the plan, of which there are some, on this cut.
  EvaluationRound(const proto::JobPlan& plan, const proto::KeptCut& cut);

  // As BatchLeases'.
  std::vector<proto::Split> Grant(TaskId worker, int64_t workers, absl::Duration now);
  // False: the result is invalid. One of a batch that the worker does not have, or that came
  // before, is ignored.
  bool Done(TaskId worker, const proto::EvaluatedBatch& batch, absl::Duration now);
  // The worker is gone: its leases are open again.
  void Drop(TaskId worker);

  std::optional<int64_t> LowestOf(TaskId worker) const { return leases_.LowestOf(worker); }
  bool done() const { return leases_.missing() == 0; }
  // The mean loss and the metrics over all examples. Requires done().
  proto::EvaluationRecord Result() const;

  int64_t done_count() const { return static_cast<int64_t>(results_.size()) - leases_.missing(); }
  uint64_t cut() const { return cut_; }
  int64_t epoch() const { return epoch_; }

 private:
  struct Batch {
    int64_t examples = -1;  // -1: not reported yet.
    double loss = 0;
    MetricSums::States states;  // Cleared once summed.
    bool data_not_finite = false;
  };

  // Adds the results that directly follow those already summed.
  void Sum();

  const uint64_t cut_;
  const int64_t epoch_;
  BatchLeases leases_;
  std::vector<Batch> results_;
  // Sums over batches [0, summed_), added in batch order.
  int64_t summed_ = 0;
  int64_t examples_ = 0;
  double loss_ = 0;
  bool data_not_finite_ = false;
  MetricSums metrics_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_EVALUATION_ROUND_H_

#ifndef CAIRN_JOB_EVALUATION_TOTALS_H_
#define CAIRN_JOB_EVALUATION_TOTALS_H_

#include <cstdint>
#include <vector>

#include "nn/objective.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace cairn::job {

// Sums the loss and the metrics of batches, which are added in their order, to those of all
// examples. Not thread-safe.
class EvaluationTotals {
 public:
  // The objective must outlive it.
  explicit EvaluationTotals(const nn::Objective& objective);

  // Returns false, and adds nothing, if the batch does not have the states of the objective's
  // metrics.
  bool Add(const proto::EvaluatedBatch& batch);

  // Without an epoch.
  proto::EvaluationRecord Means() const;

 private:
  const std::vector<nn::Objective::OutputMetric>& metrics_;
  int64_t examples_ = 0;
  double loss_ = 0;
  std::vector<std::vector<double>> states_;  // By metric.
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_EVALUATION_TOTALS_H_

#ifndef CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_
#define CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_

#include <vector>

#include "google/protobuf/repeated_field.h"
#include "nn/metric.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// A job's metrics over a number of batches: the sums of the states that their reports carry. Counts
// are exact in any order; who wants the same bits of other sums adds them in the same order. A
// value.
class MetricSums {
 public:
  using States = google::protobuf::RepeatedPtrField<proto::MetricState>;

  // Of no batch yet. The value of a metric that this program does not know is not a number.
  explicit MetricSums(const proto::Job& job);

  // Whether these are states of this job's metrics, as far as can be seen.
  bool Fits(const States& states) const;
  // `states` fit. With sign -1 they are taken away again.
  void Add(const States& states, double sign = 1);

  // The metrics' values, in the job's order; 0 where there is nothing.
  std::vector<double> Values() const;

 private:
  std::vector<nn::MetricResult> results_;
  std::vector<std::vector<double>> sums_;  // Empty before the first.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_

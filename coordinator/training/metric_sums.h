#ifndef CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_
#define CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_

#include <vector>

#include "google/protobuf/repeated_field.h"
#include "nn/metric.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// A job's metrics over a number of batches: sums of the metric states in their reports. Counts are
// exact in any order; other sums are bit-identical only if added in the same order. A value type.
class MetricSums {
 public:
  using States = google::protobuf::RepeatedPtrField<proto::MetricState>;

  // Starts with empty sums. A metric unknown to this program has the value NaN.
  explicit MetricSums(const proto::Job& job);

  // Whether `states` have the shape of this job's metrics.
  bool Fits(const States& states) const;
  // Adds `states`, or with sign -1 subtracts them. Requires Fits(states).
  void Add(const States& states, double sign = 1);

  // The metrics' values, in the job's order; 0 for empty sums.
  std::vector<double> Values() const;

 private:
  std::vector<nn::MetricResult> results_;
  std::vector<std::vector<double>> sums_;  // By metric; empty before the first Add.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_

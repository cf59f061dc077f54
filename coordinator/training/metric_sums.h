#ifndef CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_
#define CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_

#include <vector>

#include "coordinator/training/precise_sum.h"
#include "google/protobuf/repeated_field.h"
#include "nn/metric.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// A job's metrics over a number of batches: sums of the metric states in their reports. A value
// type.
class MetricSums {
 public:
  using States = google::protobuf::RepeatedPtrField<proto::MetricState>;

  // Starts with empty sums. A metric unknown to this program has the value NaN.
  explicit MetricSums(const proto::JobPlan& plan);

  // Whether `states` have the shape of this job's metrics. They come from workers: check them
  // before Add.
  bool Fits(const States& states) const;
  // Adds `states`. Requires Fits(states).
  void Add(const States& states);

  // The metrics' values, in the job's order; 0 for empty sums.
  std::vector<double> Values() const;

  void ToProto(google::protobuf::RepeatedPtrField<proto::MetricSum>* sums) const;
  // Sums of another shape leave these empty.
  void FromProto(const google::protobuf::RepeatedPtrField<proto::MetricSum>& sums);

 private:
  struct Sum {
    nn::MetricResult result;
    // One number for each of the metric's state; NaN as the value if there is none.
    std::vector<PreciseSum> state;
    bool is_empty = true;
  };
  std::vector<Sum> sums_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_METRIC_SUMS_H_

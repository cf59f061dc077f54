#ifndef CAIRN_NN_METRIC_H_
#define CAIRN_NN_METRIC_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/loss.h"
#include "nn/metrics/counter.h"
#include "proto/job.pb.h"

namespace cairn::nn {

// One of Keras's metrics: what it counts of a batch, and what number the sum of such counts means.
// Sample weights do not matter to it. Immutable, thread-safe.
class Metric {
 public:
  Metric(std::unique_ptr<MetricCounter> counter, MetricResult result)
      : counter_(std::move(counter)), result_(std::move(result)) {}

  int state_size() const { return counter_->state_size(); }
  // Adds a batch to a state of state_size() numbers, which begins with zeros.
  void Count(const Loss::Batch& batch, absl::Span<double> state) const {
    counter_->Count(batch, state);
  }
  double Result(absl::Span<const double> state) const { return result_(state); }

 private:
  const std::unique_ptr<MetricCounter> counter_;
  const MetricResult result_;
};

// The metric of that name (Keras's, or its short form, or its class's) for a model whose output has
// `output_shape` (of one example) and that is trained with `loss`, which "accuracy" depends on:
// binary for one output, else sparse or not, as the loss's labels are. Every loss is a metric too;
// "loss" is `loss` itself, with its weights.
// INVALID_ARGUMENT: unknown; not for such labels or outputs; an argument that is unknown or out of
// range.
absl::StatusOr<std::unique_ptr<Metric>> CreateMetric(const proto::Metric& config, const Loss& loss,
                                                     const Shape& output_shape);

// The part that needs no model: what a state of that metric means. Same errors.
absl::StatusOr<MetricResult> CreateMetricResult(const proto::Metric& config);

// A metric of a job.
struct JobMetric {
  proto::Metric config;
  // A position in Model::outputs().
  int output = 0;
};

// A job's metrics with their arguments, in the order of Job.metrics.
std::vector<JobMetric> JobMetrics(const proto::Job& job);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRIC_H_

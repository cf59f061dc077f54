#ifndef CAIRN_NN_METRIC_H_
#define CAIRN_NN_METRIC_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/loss.h"
#include "nn/metrics/accumulator.h"
#include "proto/objective.pb.h"

namespace cairn::nn {

// A metric as in Keras: it accumulates a state over batches and computes its value from the state.
// Immutable and thread-safe.
class Metric {
 public:
  Metric(std::unique_ptr<MetricAccumulator> accumulator, MetricResult result)
      : accumulator_(std::move(accumulator)), result_(std::move(result)) {}

  int state_size() const { return accumulator_->state_size(); }
  // Adds a batch to `state`, which has state_size() numbers and starts with zeros.
  void Accumulate(const Loss::Batch& batch, absl::Span<double> state) const {
    accumulator_->Accumulate(batch, state);
  }
  MetricSpec spec() const { return accumulator_->spec(); }
  double Result(absl::Span<const double> state) const { return result_(state); }

 private:
  const std::unique_ptr<MetricAccumulator> accumulator_;
  const MetricResult result_;
};

// Creates the metric called config.name(), which is Keras's name, its short form or the class name,
// for a model with this loss and output shape (of one example). "accuracy" depends on both: binary
// accuracy for one output, otherwise sparse or categorical accuracy, as the loss's labels are.
// Every loss is a metric too; "loss" is `loss` itself, with weights.
//
// `weighted`: as in Keras's weighted_metrics each example counts with its weight, Loss::Batch's.
// Otherwise weights are ignored.
//
// INVALID_ARGUMENT: an unknown metric, labels or outputs that it does not support, an unknown
// argument, a value out of range, or a metric that cannot be weighted.
absl::StatusOr<std::unique_ptr<Metric>> CreateMetric(const proto::Metric& config, const Loss& loss,
                                                     const Shape& output_shape,
                                                     bool weighted = false);

// Creates only the function from a state to the metric's value, which needs no model. Errors as for
// CreateMetric.
absl::StatusOr<MetricResult> CreateMetricResult(const proto::Metric& config);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRIC_H_

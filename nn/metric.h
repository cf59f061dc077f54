#ifndef CAIRN_NN_METRIC_H_
#define CAIRN_NN_METRIC_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "nn/loss.h"

namespace cairn::nn {

// What a metric gives for a batch. Sums and counts of batches add up; the metric is sum / count.
struct MetricSum {
  double sum = 0;
  double count = 0;
};

// Keras's metrics that are means over examples (and positions in an example). Immutable,
// thread-safe.
class Metric {
 public:
  virtual ~Metric() = default;

  // As it was asked for: "accuracy".
  const std::string& name() const { return name_; }

  // Labels have the loss's type.
  virtual MetricSum Compute(const Loss::Batch& batch) const = 0;

 protected:
  explicit Metric(std::string name) : name_(std::move(name)) {}

 private:
  const std::string name_;
};

// The metric of that name for a model whose output has `output_shape` (of one example) and that is
// trained with `loss`, which "accuracy" depends on: binary for one output, else sparse or not, as
// the loss's labels are. INVALID_ARGUMENT: unknown, with the list of known names, or not for labels
// of this type.
absl::StatusOr<std::unique_ptr<Metric>> CreateMetric(std::string_view name, const Loss& loss,
                                                     const Shape& output_shape);

}  // namespace cairn::nn

#endif  // CAIRN_NN_METRIC_H_

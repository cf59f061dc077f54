#ifndef CAIRN_NN_OBJECTIVE_H_
#define CAIRN_NN_OBJECTIVE_H_

#include <memory>
#include <utility>
#include <vector>

#include "nn/loss.h"
#include "nn/metric.h"

namespace cairn::nn {

// The training objective and the metrics of a model. Each output has a loss; the model's loss is
// their sum, weighted by Keras's loss_weights. Immutable and thread-safe.
class Objective {
 public:
  struct OutputLoss {
    std::unique_ptr<const Loss> loss;
    double weight = 1;
  };

  struct OutputMetric {
    std::unique_ptr<const Metric> metric;
    // An index into Model::outputs().
    int output = 0;
  };

  // No objective: batches have no labels.
  Objective() = default;
  // The objective of a model with one output, without metrics.
  explicit Objective(std::unique_ptr<const Loss> loss) {
    losses_.push_back({.loss = std::move(loss)});
  }
  Objective(std::vector<OutputLoss> losses, std::vector<OutputMetric> metrics)
      : losses_(std::move(losses)), metrics_(std::move(metrics)) {}

  // One per model output, in order; empty if there is no loss.
  const std::vector<OutputLoss>& losses() const { return losses_; }
  // The metrics, in the order of Job.metrics.
  const std::vector<OutputMetric>& metrics() const { return metrics_; }

 private:
  std::vector<OutputLoss> losses_;
  std::vector<OutputMetric> metrics_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_OBJECTIVE_H_

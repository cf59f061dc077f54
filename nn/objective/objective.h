#ifndef CAIRN_NN_OBJECTIVE_OBJECTIVE_H_
#define CAIRN_NN_OBJECTIVE_OBJECTIVE_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/model.h"
#include "proto/job.pb.h"

namespace cairn::nn {

// What a model is trained for and judged by. Each of its outputs has a loss; the model's loss is
// the sum of these, each times the output's weight (Keras's loss_weights). Immutable, thread-safe.
class Objective {
 public:
  struct Term {
    std::unique_ptr<const Loss> loss;
    double weight = 1;
  };

  struct Measure {
    std::unique_ptr<const Metric> metric;
    // A position in Model::outputs().
    int output = 0;
  };

  // None: batches have no labels.
  Objective() = default;
  // Of a model with one output, without metrics.
  explicit Objective(std::unique_ptr<const Loss> loss) {
    terms_.push_back({.loss = std::move(loss)});
  }
  // What a job says, which ResolveOutputs has seen. INVALID_ARGUMENT begins with the field's path;
  // otherwise as CreateLoss and CreateMetric.
  static absl::StatusOr<Objective> Create(const proto::Job& job, const Model& model);

  // In the order of the model's outputs; empty if there is no loss at all.
  const std::vector<Term>& terms() const { return terms_; }
  // In the order of Job.metrics.
  const std::vector<Measure>& measures() const { return measures_; }

 private:
  std::vector<Term> terms_;
  std::vector<Measure> measures_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_OBJECTIVE_OBJECTIVE_H_

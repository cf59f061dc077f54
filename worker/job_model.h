#ifndef CAIRN_WORKER_JOB_MODEL_H_
#define CAIRN_WORKER_JOB_MODEL_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/example_weights/class_weights.h"
#include "nn/loss.h"
#include "nn/metric.h"
#include "nn/model.h"
#include "proto/job.pb.h"
#include "proto/model.pb.h"

namespace cairn::worker {

// What a job computes: its model with loss and metrics. Immutable.
struct JobModel {
  std::unique_ptr<nn::Model> model;
  std::unique_ptr<nn::Loss> loss;
  std::vector<std::unique_ptr<nn::Metric>> metrics;  // In the order of Job.metrics.
  std::optional<nn::ClassWeights> class_weights;

  // InvalidArgument as Model::Create, CreateLoss and CreateMetric.
  static absl::StatusOr<JobModel> Create(const proto::Job& job, const proto::ModelSpec& spec);

  std::vector<const nn::Metric*> metric_list() const;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_MODEL_H_

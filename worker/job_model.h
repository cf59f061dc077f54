#ifndef CAIRN_WORKER_JOB_MODEL_H_
#define CAIRN_WORKER_JOB_MODEL_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "nn/example_weights/class_weights.h"
#include "nn/model.h"
#include "nn/objective/objective.h"
#include "proto/job.pb.h"
#include "proto/model.pb.h"

namespace cairn::worker {

// What a job computes: its model with losses and metrics. Immutable.
struct JobModel {
  std::unique_ptr<nn::Model> model;
  nn::Objective objective;
  std::optional<nn::ClassWeights> class_weights;

  // InvalidArgument as Model::Create, Objective::Create and ClassWeights::Create.
  static absl::StatusOr<JobModel> Create(const proto::Job& job, const proto::ModelSpec& spec);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_MODEL_H_

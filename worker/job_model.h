#ifndef CAIRN_WORKER_JOB_MODEL_H_
#define CAIRN_WORKER_JOB_MODEL_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "job/class_weights.h"
#include "nn/model.h"
#include "nn/objective.h"
#include "proto/job.pb.h"
#include "proto/model.pb.h"

namespace cairn::worker {

// The model of a job with its losses, metrics and class weights. Immutable.
struct JobModel {
  std::unique_ptr<nn::Model> model;
  nn::Objective objective;
  std::optional<job::ClassWeights> class_weights;

  // InvalidArgument as Model::Create, job::CreateObjective and ClassWeights::Create.
  static absl::StatusOr<JobModel> Create(const proto::Job& job, const proto::ModelSpec& spec);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_MODEL_H_

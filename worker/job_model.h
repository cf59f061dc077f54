#ifndef CAIRN_WORKER_JOB_MODEL_H_
#define CAIRN_WORKER_JOB_MODEL_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "job/class_weights.h"
#include "job/model_program.h"
#include "nn/model.h"
#include "nn/objective.h"
#include "nn/precision.h"
#include "proto/job.pb.h"
#include "proto/model.pb.h"

namespace cairn::worker {

// Job.precision, or its default.
nn::Precision PrecisionOf(const proto::Job& job);

// The model of a job with its losses, metrics and class weights. Immutable.
struct JobModel {
  // In a job of several models their union, which has the variables.
  std::unique_ptr<nn::Model> model;
  nn::Objective objective;
  std::optional<job::ClassWeights> class_weights;
  nn::Precision precision = nn::Precision::kFloat32;
  // What a step computes in a job of several models; otherwise null.
  std::unique_ptr<const job::ModelProgram> program;

  // What the data are for: their inputs and labels.
  const nn::Model& data_model() const { return program ? *program->data_model : *model; }
  const nn::Objective& data_objective() const {
    return program ? program->data_objective : objective;
  }

  // InvalidArgument as Model::Create, job::CreateObjective, job::ModelProgram::Create and
  // ClassWeights::Create.
  static absl::StatusOr<JobModel> Create(const proto::Job& job, const proto::ModelSpec& spec);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_MODEL_H_

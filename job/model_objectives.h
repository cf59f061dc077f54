#ifndef CAIRN_JOB_MODEL_OBJECTIVES_H_
#define CAIRN_JOB_MODEL_OBJECTIVES_H_

#include <string>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace cairn::job {

// True if the job trains several models (Job.models and Job.objectives).
bool HasModels(const proto::Job& job);

// Checks the fields of such a job that can be checked without the models. InvalidArgument starts
// with the field's path in the job file.
absl::Status CheckModelObjectives(const proto::Job& job);

// The name of an objective in reports; its loss is NAME_loss.
std::string ObjectiveName(const proto::ModelObjective& objective);

// The index of the objective that trains the model, or -1.
int ObjectiveOf(const proto::Job& job, const std::string& model);

// True if some loss calls the model on the data themselves.
bool TakesData(const proto::Job& job, const std::string& model);

// True if some loss compares with the labels of the data.
bool UsesLabels(const proto::Job& job);

}  // namespace cairn::job

#endif  // CAIRN_JOB_MODEL_OBJECTIVES_H_

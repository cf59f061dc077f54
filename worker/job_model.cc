#include "worker/job_model.h"

#include <map>
#include <string>
#include <utility>

#include "common/status_macros.h"
#include "job/job_objective.h"
#include "job/model_objectives.h"

namespace cairn::worker {
nn::Precision PrecisionOf(const proto::Job& job) {
  if (!job.has_precision()) return nn::Precision::kFloat32;
  return nn::FindPrecision(job.precision()).value_or(nn::Precision::kFloat32);
}

absl::StatusOr<JobModel> JobModel::Create(const proto::Job& job, const proto::ModelSpec& spec) {
  JobModel result;
  CAIRN_ASSIGN_OR_RETURN(result.model, nn::Model::Create(spec));
  CAIRN_ASSIGN_OR_RETURN(result.objective, job::CreateObjective(job, *result.model));
  result.precision = PrecisionOf(job);
  if (job::HasModels(job)) {
    CAIRN_ASSIGN_OR_RETURN(job::ModelProgram program,
                           job::ModelProgram::Create(job, spec, *result.model));
    result.program = std::make_unique<const job::ModelProgram>(std::move(program));
    return result;
  }
  if (!job.class_weight().empty()) {
    const std::map<int64_t, double> weights(job.class_weight().begin(), job.class_weight().end());
    CAIRN_ASSIGN_OR_RETURN(result.class_weights,
                           job::ClassWeights::Create(weights, *result.objective.losses()[0].loss,
                                                     result.model->output_shape()));
  }
  return result;
}

}  // namespace cairn::worker

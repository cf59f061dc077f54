#include "worker/job_model.h"

#include <new>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

// `what` is the job file's field.
absl::StatusOr<std::shared_ptr<const Dataset>> LoadSource(const proto::DataSource& source,
                                                          const JobModel& model,
                                                          const std::string& what) {
  try {
    auto dataset = Dataset::Load(source, *model.model, *model.loss);
    if (dataset.ok()) return std::shared_ptr<const Dataset>(*std::move(dataset));
    return absl::Status(dataset.status().code(),
                        absl::StrCat(what, ": ", dataset.status().message()));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat(what, ": the data do not fit into this worker's memory"));
  }
}

absl::Status InspectInto(const proto::Inspect& inspect, proto::InspectReply* reply) {
  CAIRN_ASSIGN_OR_RETURN(const JobModel model, JobModel::Create(inspect.job(), inspect.model()));
  CAIRN_ASSIGN_OR_RETURN(const JobData data, LoadJobData(inspect.job(), model, true, true));
  reply->set_examples(data.train->examples());
  if (data.validation != nullptr) reply->set_validation_examples(data.validation->examples());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<JobModel> JobModel::Create(const proto::Job& job, const proto::ModelSpec& spec) {
  JobModel result;
  CAIRN_ASSIGN_OR_RETURN(result.model, nn::Model::Create(spec));
  CAIRN_ASSIGN_OR_RETURN(result.loss, nn::CreateLoss(job.loss()));
  for (const std::string& name : job.metrics()) {
    CAIRN_ASSIGN_OR_RETURN(result.metrics.emplace_back(),
                           nn::CreateMetric(name, *result.loss, result.model->output_shape()));
  }
  return result;
}

std::vector<const nn::Metric*> JobModel::metric_list() const {
  std::vector<const nn::Metric*> list;
  for (const auto& metric : metrics) list.push_back(metric.get());
  return list;
}

absl::StatusOr<JobData> LoadJobData(const proto::Job& job, const JobModel& model, bool train,
                                    bool validation) {
  JobData data;
  if (train) {
    CAIRN_ASSIGN_OR_RETURN(data.train, LoadSource(job.train(), model, "train"));
  }
  if (validation && job.has_validation()) {
    CAIRN_ASSIGN_OR_RETURN(data.validation, LoadSource(job.validation(), model, "validation"));
  }
  return data;
}

proto::InspectReply InspectJob(const proto::Inspect& inspect) {
  proto::InspectReply reply;
  reply.set_job_id(inspect.job_id());
  const absl::Status status = InspectInto(inspect, &reply);
  if (!status.ok()) reply.set_error(std::string(status.message()));
  return reply;
}

}  // namespace cairn::worker

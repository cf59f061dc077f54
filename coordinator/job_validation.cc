#include "coordinator/job_validation.h"

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "common/status_macros.h"
#include "coordinator/callbacks/create_callbacks.h"
#include "job/class_weights.h"
#include "job/data_source.h"
#include "job/data_url.h"
#include "job/job_name.h"
#include "job/job_numbers.h"
#include "job/job_objective.h"
#include "job/job_outputs.h"
#include "job/job_plan.h"
#include "job/model_objectives.h"
#include "job/model_program.h"
#include "job/partitioner.h"
#include "job/report_keys.h"
#include "nn/model.h"
#include "nn/objective.h"
#include "nn/optimizer.h"

namespace cairn::coordinator {
namespace {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Prefixes a library's message with the field's path.
absl::Status At(const char* path, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
}

absl::Status CheckFile(const std::string& path, const std::string& file) {
  if (file[0] == '/') return absl::OkStatus();
  if (job::IsDataUrl(file)) {
    const absl::Status status = job::ParseDataUrl(file).status();
    return status.ok() ? status : Invalid(path, ": ", std::string(status.message()));
  }
  return Invalid(path, ": '", file, "' is not an absolute path");
}

absl::Status CheckFiles(const char* path, proto::DataSource source) {
  for (const job::DataFile& file : job::FilesOf(path, &source)) {
    CAIRN_RETURN_IF_ERROR(CheckFile(file.path, *file.name));
  }
  return absl::OkStatus();
}

absl::Status CheckData(const proto::Job& job) {
  CAIRN_RETURN_IF_ERROR(job::CheckJobData(job));
  CAIRN_RETURN_IF_ERROR(CheckFiles("train", job.train()));
  return CheckFiles("validation", job.validation());
}

absl::Status CheckClassWeight(const proto::Job& job, const nn::Model& model,
                              const nn::Objective& objective) {
  if (job.class_weight().empty()) return absl::OkStatus();
  if (model.outputs().size() > 1) {
    return Invalid("class_weight: is for models of one output (as in Keras), this one has ",
                   model.outputs().size(), "; give each example its weight by \"sample_weight\"");
  }
  const std::map<int64_t, double> weights(job.class_weight().begin(), job.class_weight().end());
  return At("class_weight",
            job::ClassWeights::Create(weights, *objective.losses()[0].loss, model.output_shape())
                .status());
}

absl::Status CheckScale(const proto::Job& job) {
  if (!job.scale_learning_rate()) return absl::OkStatus();
  if (job.optimizer().has_learning_rate_schedule()) {
    return Invalid("scale_learning_rate: multiplies a number, the optimizer has the schedule ",
                   job.optimizer().learning_rate_schedule().name(), "; multiply its rates instead");
  }
  if (job::ResolveNumbers(job).updates.synchronous) return absl::OkStatus();
  return Invalid(
      "scale_learning_rate: multiplies by the batches of an update, and those of an asynchronous "
      R"(job are single batches; say "strategy": {"parameter_server": {"mode": "sync"}})");
}

absl::Status CheckLearning(const proto::Job& job, const nn::Model& model) {
  CAIRN_RETURN_IF_ERROR(CreateCallbacks(job).status());
  CAIRN_RETURN_IF_ERROR(CheckScale(job));
  if (job::HasModels(job)) return job::CheckMetricNames(job);
  if (job.optimizer().name().empty()) return Invalid("optimizer: is missing");
  CAIRN_ASSIGN_OR_RETURN(const nn::Objective objective, job::CreateObjective(job, model));
  CAIRN_RETURN_IF_ERROR(At("optimizer", nn::CreateOptimizer(job.optimizer()).status()));
  CAIRN_RETURN_IF_ERROR(CheckClassWeight(job, model, objective));
  return job::CheckMetricNames(job);
}

// Normalizes what the job says about the model's outputs.
absl::Status ResolveJob(const nn::Model& model, proto::Job* job) {
  if (job->loss().name().empty() && job->outputs().empty()) return Invalid("loss: is missing");
  CAIRN_RETURN_IF_ERROR(job::ResolveOutputs(model, job));
  CAIRN_RETURN_IF_ERROR(job::ResolveLabels("train", model, job->mutable_train()));
  if (!job->has_validation()) return absl::OkStatus();
  return job::ResolveLabels("validation", model, job->mutable_validation());
}

// The same for a job of several models: the losses of the objectives become the metrics.
absl::Status ResolveModels(const proto::ModelSpec& spec, const nn::Model& model, proto::Job* job) {
  for (const proto::ModelObjective& objective : job->objectives()) {
    proto::MetricArguments* arguments = job->add_metric_arguments();
    arguments->set_index(job->metrics_size());
    arguments->mutable_metric()->set_name("loss");
    job->add_metrics(absl::StrCat(job::ObjectiveName(objective), "_loss"));
  }
  CAIRN_ASSIGN_OR_RETURN(const job::ModelProgram program,
                         job::ModelProgram::Create(*job, spec, model));
  const job::DataFormat* const format = job::FormatOf(job->train());
  if (!job::UsesLabels(*job) && format != nullptr && format->has_array_files()) {
    // Labels that no loss takes are not read.
    const job::FileLists lists = format->lists(job->mutable_train());
    lists.labels->Clear();
    lists.label_outputs->Clear();
  }
  CAIRN_RETURN_IF_ERROR(job::ResolveLabels("train", *program.data_model, job->mutable_train()));
  return job::CheckDataFitsModel(*job, *program.data_model);
}

// Normalizes what the job says about its model or models, and checks that the data fit.
absl::Status ResolveAll(const proto::ModelSpec& spec, const nn::Model& model, proto::Job* job) {
  if (job::HasModels(*job)) return ResolveModels(spec, model, job);
  CAIRN_RETURN_IF_ERROR(ResolveJob(model, job));
  return job::CheckDataFitsModel(*job, model);
}

}  // namespace

absl::Status ValidateFields(const proto::Job& job) {
  CAIRN_RETURN_IF_ERROR(job::CheckJobName(job.name()));
  if (!job.has_train()) return Invalid("train: is missing; say where the examples are");
  CAIRN_RETURN_IF_ERROR(CheckData(job));
  if (job::HasModels(job)) CAIRN_RETURN_IF_ERROR(job::CheckModelObjectives(job));
  return job::ValidateJobLimits(job);
}

absl::StatusOr<ValidatedJob> ValidateJob(proto::SubmitRequest request, int ps_count,
                                         const job::ClusterShape& cluster) {
  proto::Job& job = *request.mutable_job();
  CAIRN_RETURN_IF_ERROR(ValidateFields(job));
  CAIRN_RETURN_IF_ERROR(job::CheckStrategyFits(job.strategy(), cluster));
  if (!cluster.has_ps && job.strategy().kind_case() == proto::Strategy::KIND_NOT_SET) {
    job.mutable_strategy()->mutable_multi_worker_mirrored();
  }
  if (job.has_resume_from() && !request.uploads_weights()) {
    return Invalid("resume_from: the values are brought by cairn, which this client is not");
  }
  auto model = nn::Model::Create(request.model());
  CAIRN_RETURN_IF_ERROR(At("model", model.status()));
  CAIRN_RETURN_IF_ERROR(ResolveAll(request.model(), **model, &job));
  CAIRN_RETURN_IF_ERROR(CheckLearning(job, **model));
  CAIRN_ASSIGN_OR_RETURN(const job::VariableRules rules,
                         job::VariableRules::Create(job, request.model(), (*model)->variables()));

  ValidatedJob validated;
  std::vector<cluster::VariableExtent> extents;
  bool learns = false;
  for (size_t i = 0; i < (*model)->variables().size(); ++i) {
    const nn::VariableSpec& variable = (*model)->variables()[i];
    const bool needs_whole = rules.optimizers[rules.optimizer_of[i]]->needs_whole_variables();
    extents.push_back({variable.name, variable.shape,
                       variable.update != nn::VariableSpec::Update::kFrozen,
                       job::ShardsOf(job.partitioner(), variable.shape, ps_count),
                       needs_whole || variable.constraint.needs_all_rows()});
    learns |= extents.back().pushed;
    validated.parameters += variable.element_count();
  }
  if (!learns) return Invalid("model: no variable is trainable: there is nothing to train");
  auto partition = cluster::PlaceVariables(extents, ps_count, job::PlacementOf(job.partitioner()));
  CAIRN_RETURN_IF_ERROR(At("model", partition.status()));
  validated.partition = *std::move(partition);
  validated.sizes = ComputeSizes(validated.partition, (*model)->variables(), rules);
  validated.request = std::move(request);
  return validated;
}

}  // namespace cairn::coordinator

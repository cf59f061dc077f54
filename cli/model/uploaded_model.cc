#include "cli/model/uploaded_model.h"

#include <filesystem>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "cluster/variable_transfer.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {
namespace {

constexpr size_t kNameMax = 128;  // As job::CheckJobName.

// The name of a job for this file: "file-model.keras".
std::string JobName(const std::string& file) {
  const std::filesystem::path path(file);
  const auto last = path.has_filename() ? path.filename() : path.parent_path().filename();
  std::string name = absl::StrCat("file-", last.string());
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_') c = '-';
  }
  return name.substr(0, kNameMax);
}

// A job with this model that the coordinator accepts. No worker reads its data.
proto::Job MakeJob(const TrainedModel& model) {
  proto::Job job;
  job.set_name(JobName(model.file));
  job.set_model(model.plan.job().model());
  auto& arrays = *job.mutable_train()->mutable_npy();
  for (int i = 0; i < model.plan.model().inputs_size(); ++i) arrays.add_features("/dev/null");
  for (int i = 0; i < model.plan.model().outputs_size(); ++i) arrays.add_labels("/dev/null");
  job.mutable_loss()->set_name("mse");
  job.mutable_optimizer()->set_name("sgd");
  job.set_batch_size(1);
  job.set_epochs(1);
  return job;
}

// The checkpoint of the job's initial values.
proto::Manifest InitialValues(const proto::PartitionMap& partition) {
  proto::Manifest manifest;
  *manifest.mutable_partition() = partition;
  std::set<uint32_t> holders;
  for (const auto& block : partition.blocks()) holders.insert(block.ps());
  for (const uint32_t ps : holders) manifest.add_parts()->set_ps(ps);
  return manifest;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UploadedModel>> UploadedModel::Create(CoordinatorApi* coordinator,
                                                                     const TrainedModel& model) {
  proto::SubmitRequest request;
  *request.mutable_job() = MakeJob(model);
  *request.mutable_model() = model.plan.model();
  request.set_uploads_weights(true);
  request.set_client_version(kVersion);
  const absl::StatusOr<proto::SubmitReply> submitted = coordinator->Submit(request);
  if (absl::IsInvalidArgument(submitted.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(model.file, ": the cluster cannot hold it as a job (",
                     submitted.status().message(), "); leave --on cluster out"));
  }
  CAIRN_RETURN_IF_ERROR(submitted.status());
  const proto::SubmitReply& reply = *submitted;
  // Deletes the job on any later error.
  std::unique_ptr<UploadedModel> uploaded(
      new UploadedModel(coordinator, absl::StrCat(reply.job_id())));
  cluster::PsEndpoints ps;
  ps.addresses.assign(reply.ps_addresses().begin(), reply.ps_addresses().end());
  ps.cluster_id = reply.cluster_id();
  CAIRN_RETURN_IF_ERROR(
      cluster::UploadVariables(ps, reply.job_id(), reply.partition(), model.variables));
  uploaded->model_.plan = model.plan;
  uploaded->model_.plan.set_job_id(reply.job_id());
  *uploaded->model_.plan.mutable_partition() = reply.partition();
  uploaded->model_.checkpoint = InitialValues(reply.partition());
  return uploaded;
}

UploadedModel::~UploadedModel() {
  coordinator_.CancelJob(job_).status().IgnoreError();
  coordinator_.DeleteJob(job_).status().IgnoreError();
}

}  // namespace cairn::cli

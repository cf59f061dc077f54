#include "cli/submission.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/find_cluster.h"
#include "cli/job_file.h"
#include "cli/model/warm_start.h"
#include "cli/model/weights_start.h"
#include "cli/remote_source.h"
#include "cli/upload_heartbeat.h"
#include "cluster/variable_transfer.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "job/model_objectives.h"
#include "storage/job_records.h"

namespace cairn::cli {

absl::StatusOr<Submission> ReadSubmission(const std::string& job_file) {
  Submission submission;
  submission.file = job_file;
  CAIRN_ASSIGN_OR_RETURN(submission.job, ReadJobFile(job_file));
  if (!job::HasModels(submission.job)) {
    CAIRN_ASSIGN_OR_RETURN(submission.model, ReadModelFile(submission.job.model()));
    return submission;
  }
  CAIRN_ASSIGN_OR_RETURN(submission.model, ReadModelFiles(submission.job));
  return submission;
}

namespace {

using Weights = std::vector<std::vector<float>>;

// True if the job that `reuse` would return already has its weights.
bool HasItsWeights(CoordinatorApi* api, const std::string& name) {
  const absl::StatusOr<proto::JobStatus> known = api->GetJob(name);
  return known.ok() && known->state() != proto::UPLOADING && !storage::WasRefused(*known);
}

// Errors about the job start with the name of its file.
absl::Status InFile(const std::string& file, const absl::Status& status) {
  if (file.empty() || !absl::IsInvalidArgument(status)) return status;
  return absl::InvalidArgumentError(absl::StrCat(file, ": ", status.message()));
}

absl::StatusOr<WarmStart> ReadSource(CoordinatorApi* api, const Submission& submission) {
  if (ResumesFromFile(submission.job)) return ReadWeightsStart(submission.job, submission.model);
  const std::string& state = submission.job.resume_from().state();
  std::unique_ptr<CoordinatorApi> other;
  std::unique_ptr<JobSource> source = std::make_unique<RemoteSource>(api);
  if (!state.empty()) {
    ClusterChoice choice;
    choice.state = state;
    absl::StatusOr<FoundSource> found = FindSource(choice);
    if (!found.ok()) {
      return absl::Status(found.status().code(),
                          absl::StrCat("resume_from.state: ", found.status().message()));
    }
    other = std::move(found->api);
    source = std::move(found->source);
  }
  return ReadWarmStart(source.get(), submission.job, submission.model);
}

}  // namespace

absl::StatusOr<proto::SubmitReply> Submit(CoordinatorApi* api, const Submission& submission,
                                          bool reuse, std::vector<std::string>* notes) {
  // First read the weights of the other job: if that fails, no job is created.
  const bool resumes = submission.job.has_resume_from();
  std::optional<WarmStart> warm;
  if (resumes && !(reuse && HasItsWeights(api, submission.job.name()))) {
    CAIRN_ASSIGN_OR_RETURN(warm, ReadSource(api, submission));
  }
  proto::SubmitRequest request;
  *request.mutable_job() = submission.job;
  *request.mutable_model() = submission.model.spec;
  request.set_uploads_weights(resumes || !submission.model.weights.empty());
  request.set_reuse(reuse);
  request.set_client_version(kVersion);
  absl::StatusOr<proto::SubmitReply> accepted = api->Submit(request);
  if (!accepted.ok()) return InFile(submission.file, accepted.status());
  proto::SubmitReply reply = *std::move(accepted);
  if (reply.status().state() != proto::UPLOADING) return reply;
  if (resumes && !warm.has_value()) {
    // The job that HasItsWeights saw was replaced before Submit arrived.
    return absl::UnavailableError("the job was made anew while it was submitted; try again");
  }

  // The job waits for its weights. They go to the ps directly; CommitWeights then queues the job.
  cluster::PsEndpoints ps;
  ps.addresses.assign(reply.ps_addresses().begin(), reply.ps_addresses().end());
  ps.cluster_id = reply.cluster_id();
  const Weights& weights = warm.has_value() ? warm->variables : submission.model.weights;
  const std::string id = absl::StrCat(reply.job_id());
  {
    const UploadHeartbeat heartbeat(api, id);
    const bool with_states = warm.has_value() && !warm->states.empty();
    const absl::Status uploaded =
        with_states ? cluster::UploadStates(ps, reply.job_id(), reply.partition(), warm->states)
                    : cluster::UploadVariables(ps, reply.job_id(), reply.partition(), weights);
    // With `reuse` the next attempt goes on with this job.
    if (!uploaded.ok() && !reuse) {
      const bool cancelled = api->CancelJob(id).ok();
      return absl::Status(
          uploaded.code(),
          absl::StrCat("the weights of job ", id, " were not uploaded: ", uploaded.message(),
                       cancelled ? "; the job was cancelled, submit it again" : ""));
    }
    CAIRN_RETURN_IF_ERROR(uploaded);
  }
  CAIRN_ASSIGN_OR_RETURN(*reply.mutable_status(), api->CommitWeights(id));
  if (notes != nullptr && warm.has_value()) *notes = WarmStartNotes(*warm);
  return reply;
}

}  // namespace cairn::cli

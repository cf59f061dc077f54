#include "cli/submission.h"

#include "absl/strings/str_cat.h"
#include "cli/job_file.h"
#include "cli/ps_transfer.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace cairn::cli {

absl::StatusOr<Submission> ReadSubmission(const std::string& job_file) {
  Submission submission;
  CAIRN_ASSIGN_OR_RETURN(submission.job, ReadJobFile(job_file));
  CAIRN_ASSIGN_OR_RETURN(submission.model, ReadModelFile(submission.job.model()));
  return submission;
}

absl::StatusOr<proto::SubmitReply> Submit(CoordinatorApi* api, const Submission& submission,
                                          bool reuse) {
  proto::SubmitRequest request;
  *request.mutable_job() = submission.job;
  *request.mutable_model() = submission.model.spec;
  request.set_weights_follow(!submission.model.weights.empty());
  request.set_reuse(reuse);
  request.set_client_version(kVersion);
  CAIRN_ASSIGN_OR_RETURN(proto::SubmitReply reply, api->Submit(request));
  if (reply.status().state() != proto::UPLOADING) return reply;

  PsEndpoints ps;
  ps.addresses.assign(reply.ps_addresses().begin(), reply.ps_addresses().end());
  ps.cluster_id = reply.cluster_id();
  CAIRN_RETURN_IF_ERROR(
      UploadVariables(ps, reply.job_id(), reply.partition(), submission.model.weights));
  CAIRN_ASSIGN_OR_RETURN(*reply.mutable_status(), api->CommitWeights(absl::StrCat(reply.job_id())));
  return reply;
}

}  // namespace cairn::cli

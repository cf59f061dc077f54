#include "cli/remote_source.h"

#include "cli/ps_transfer.h"
#include "common/status_macros.h"

namespace cairn::cli {

absl::StatusOr<std::vector<proto::JobStatus>> RemoteSource::ListJobs() {
  CAIRN_ASSIGN_OR_RETURN(const proto::ListJobsReply reply, api_->ListJobs());
  return std::vector<proto::JobStatus>(reply.jobs().begin(), reply.jobs().end());
}

absl::StatusOr<proto::JobStatus> RemoteSource::GetJob(const std::string& job) {
  return api_->GetJob(job);
}

absl::StatusOr<proto::JobPlan> RemoteSource::GetPlan(const std::string& job) {
  return api_->GetPlan(job);
}

absl::Status RemoteSource::ReadHistory(const std::string& job,
                                       absl::FunctionRef<void(const proto::HistoryChunk&)> visit) {
  return api_->ReadHistory(job, visit);
}

absl::StatusOr<proto::CheckpointList> RemoteSource::ListCheckpoints(const std::string& job) {
  return api_->ListCheckpoints(job);
}

absl::StatusOr<std::vector<std::vector<float>>> RemoteSource::ReadVariables(
    const proto::JobPlan& plan, const proto::Manifest& checkpoint) {
  CAIRN_ASSIGN_OR_RETURN(const proto::ClusterStatus cluster, api_->GetCluster());
  PsEndpoints ps;
  ps.addresses.assign(cluster.ps_addresses().begin(), cluster.ps_addresses().end());
  ps.cluster_id = cluster.cluster_id();
  return DownloadVariables(ps, plan.job_id(),
                           checkpoint.has_partition() ? checkpoint.partition() : plan.partition(),
                           checkpoint);
}

}  // namespace cairn::cli

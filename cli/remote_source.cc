#include "cli/remote_source.h"

#include "cluster/variable_transfer.h"
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

namespace {

const proto::PartitionMap& PartitionOf(const proto::JobPlan& plan,
                                       const proto::Manifest& checkpoint) {
  return checkpoint.has_partition() ? checkpoint.partition() : plan.partition();
}

}  // namespace

absl::StatusOr<cluster::PsEndpoints> RemoteSource::FindPs() {
  CAIRN_ASSIGN_OR_RETURN(const proto::ClusterStatus cluster, api_->GetCluster());
  cluster::PsEndpoints ps;
  ps.addresses.assign(cluster.ps_addresses().begin(), cluster.ps_addresses().end());
  ps.cluster_id = cluster.cluster_id();
  return ps;
}

absl::StatusOr<std::vector<std::vector<float>>> RemoteSource::ReadVariables(
    const proto::JobPlan& plan, const proto::Manifest& checkpoint) {
  CAIRN_ASSIGN_OR_RETURN(const cluster::PsEndpoints ps, FindPs());
  return cluster::DownloadVariables(ps, plan.job_id(), PartitionOf(plan, checkpoint), checkpoint);
}

absl::StatusOr<std::vector<cluster::VariableState>> RemoteSource::ReadStates(
    const proto::JobPlan& plan, const proto::Manifest& checkpoint) {
  CAIRN_ASSIGN_OR_RETURN(const cluster::PsEndpoints ps, FindPs());
  return cluster::DownloadStates(ps, plan.job_id(), PartitionOf(plan, checkpoint), checkpoint);
}

}  // namespace cairn::cli

#ifndef CAIRN_CLI_REMOTE_SOURCE_H_
#define CAIRN_CLI_REMOTE_SOURCE_H_

#include <string>
#include <vector>

#include "cli/coordinator_api.h"
#include "cli/job_source.h"

namespace cairn::cli {

// A running cluster as a JobSource: jobs from the coordinator, values from the ps.
class RemoteSource final : public JobSource {
 public:
  // `api` must outlive it.
  explicit RemoteSource(CoordinatorApi* api) : api_(api) {}

  absl::StatusOr<std::vector<proto::JobStatus>> ListJobs() override;
  absl::StatusOr<proto::JobStatus> GetJob(const std::string& job) override;
  absl::StatusOr<proto::JobPlan> GetPlan(const std::string& job) override;
  absl::Status ReadHistory(const std::string& job,
                           absl::FunctionRef<void(const proto::HistoryChunk&)> visit) override;
  absl::StatusOr<proto::CheckpointList> ListCheckpoints(const std::string& job) override;
  absl::StatusOr<std::vector<std::vector<float>>> ReadVariables(
      const proto::JobPlan& plan, const proto::Manifest& checkpoint) override;
  absl::StatusOr<std::vector<cluster::VariableState>> ReadStates(
      const proto::JobPlan& plan, const proto::Manifest& checkpoint) override;

 private:
  absl::StatusOr<cluster::PsEndpoints> FindPs();

  CoordinatorApi* const api_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_REMOTE_SOURCE_H_

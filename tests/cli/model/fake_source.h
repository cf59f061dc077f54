#ifndef CAIRN_TESTS_CLI_MODEL_FAKE_SOURCE_H_
#define CAIRN_TESTS_CLI_MODEL_FAKE_SOURCE_H_

#include <map>
#include <string>
#include <vector>

#include "cli/job_source.h"

namespace cairn::cli {

// A source with one job, which the test has made.
struct FakeSource final : public JobSource {
  proto::JobPlan plan;
  proto::JobStatus status;
  proto::CheckpointList checkpoints;
  std::map<uint64_t, std::vector<std::vector<float>>> values;  // By checkpoint.
  std::vector<cluster::VariableState> states;                  // Of all checkpoints.

  absl::StatusOr<std::vector<proto::JobStatus>> ListJobs() override { return std::vector{status}; }
  absl::StatusOr<proto::JobStatus> GetJob(const std::string&) override { return status; }
  absl::StatusOr<proto::JobPlan> GetPlan(const std::string&) override { return plan; }
  absl::Status ReadHistory(const std::string&,
                           absl::FunctionRef<void(const proto::HistoryChunk&)>) override {
    return absl::OkStatus();
  }
  absl::StatusOr<proto::CheckpointList> ListCheckpoints(const std::string&) override {
    return checkpoints;
  }
  absl::StatusOr<std::vector<std::vector<float>>> ReadVariables(
      const proto::JobPlan&, const proto::Manifest& checkpoint) override {
    return values[checkpoint.checkpoint()];
  }
  absl::StatusOr<std::vector<cluster::VariableState>> ReadStates(const proto::JobPlan&,
                                                                 const proto::Manifest&) override {
    return states;
  }
};

}  // namespace cairn::cli

#endif  // CAIRN_TESTS_CLI_MODEL_FAKE_SOURCE_H_

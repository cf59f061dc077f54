#ifndef CAIRN_CLI_STATE_SOURCE_H_
#define CAIRN_CLI_STATE_SOURCE_H_

#include <memory>
#include <string>
#include <vector>

#include "cli/job_source.h"
#include "storage/job_records.h"
#include "storage/journal.h"
#include "storage/snapshot_store.h"

namespace cairn::cli {

// A JobSource that reads the state directory of a local cluster, which may be up or down. Writes
// nothing. Reads the journal as it was at the call of Open.
class StateSource final : public JobSource {
 public:
  // NotFound: nothing has run on this directory.
  static absl::StatusOr<std::unique_ptr<StateSource>> Open(const std::string& state);

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
  // Opens the snapshot of ps `ps`, or a copy of it.
  absl::StatusOr<std::unique_ptr<storage::SnapshotReader>> OpenPart(
      uint64_t job_id, const proto::Manifest& checkpoint, uint32_t ps) const;
  StateSource(std::string state, std::unique_ptr<const storage::Journal> journal);
  absl::StatusOr<storage::JobRecords> ReadRecords(const std::string& job);

  const std::string state_;
  const std::unique_ptr<const storage::Journal> journal_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_STATE_SOURCE_H_

#include "cli/state_source.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "cluster/variable_transfer.h"
#include "common/status_macros.h"
#include "nn/optimizer.h"
#include "storage/snapshot_store.h"

namespace cairn::cli {
namespace {

constexpr int kChunkBatches = 1000;

// The values of the trained model: their moving average if the optimizer keeps one. It is not set
// before the first update.
std::vector<float> TrainedValues(cluster::VariableState state) {
  const auto average =
      std::find(state.slots.begin(), state.slots.end(), nn::Optimizer::kAverageSlotName);
  if (average == state.slots.end() || state.version == 0) return std::move(state.values);
  return std::move(state.slot_values[average - state.slots.begin()]);
}

}  // namespace

StateSource::StateSource(std::string state, std::unique_ptr<const storage::Journal> journal)
    : state_(std::move(state)), journal_(std::move(journal)) {}

absl::StatusOr<std::unique_ptr<StateSource>> StateSource::Open(const std::string& state) {
  auto journal = storage::Journal::OpenReadOnly(state + "/coordinator");
  if (absl::IsNotFound(journal.status())) {
    // RocksDB reports a directory that is missing and one that may not be read in the same way.
    std::error_code error;
    std::filesystem::directory_iterator(state + "/coordinator", error);
    if (error == std::errc::permission_denied) {
      return absl::PermissionDeniedError(
          absl::StrCat("cannot read ", state, "/coordinator: ", error.message()));
    }
    return absl::NotFoundError(absl::StrCat("nothing has run on the state directory ", state, " (",
                                            std::string(journal.status().message()), ")"));
  }
  if (!journal.ok()) return journal.status();
  return std::unique_ptr<StateSource>(new StateSource(state, *std::move(journal)));
}

absl::StatusOr<storage::JobRecords> StateSource::ReadRecords(const std::string& job) {
  CAIRN_ASSIGN_OR_RETURN(const auto jobs, storage::ReadJobNames(*journal_));
  CAIRN_ASSIGN_OR_RETURN(const uint64_t id, storage::ResolveJob(jobs, job));
  return storage::ReadJob(*journal_, id);
}

absl::StatusOr<std::vector<proto::JobStatus>> StateSource::ListJobs() {
  CAIRN_ASSIGN_OR_RETURN(const auto jobs, storage::ReadJobs(*journal_));
  std::vector<proto::JobStatus> statuses;
  for (const proto::JobRecord& job : jobs) {
    CAIRN_ASSIGN_OR_RETURN(const auto records, storage::ReadJob(*journal_, job.job_id()));
    statuses.push_back(storage::StatusFromRecords(records));
  }
  return statuses;
}

absl::StatusOr<proto::JobStatus> StateSource::GetJob(const std::string& job) {
  CAIRN_ASSIGN_OR_RETURN(const auto records, ReadRecords(job));
  return storage::StatusFromRecords(records);
}

absl::StatusOr<proto::JobPlan> StateSource::GetPlan(const std::string& job) {
  CAIRN_ASSIGN_OR_RETURN(const auto records, ReadRecords(job));
  if (records.plan) return *records.plan;
  return absl::FailedPreconditionError(absl::StrCat("job ", job, " has not started"));
}

absl::Status StateSource::ReadHistory(const std::string& job,
                                      absl::FunctionRef<void(const proto::HistoryChunk&)> visit) {
  CAIRN_ASSIGN_OR_RETURN(const auto records, ReadRecords(job));
  proto::HistoryChunk chunk;
  *chunk.mutable_metric_names() = records.record.job().metrics();
  *chunk.mutable_rates() = storage::RatesOf(records.run);
  if (records.plan) chunk.set_batches_per_epoch(records.plan->batches_per_epoch());
  chunk.set_initial_epoch(records.record.job().initial_epoch());
  CAIRN_RETURN_IF_ERROR(storage::ReadBatches(*journal_, records.record.job_id(), 0,
                                             [&](const proto::BatchRecord& batch) {
                                               *chunk.add_batches() = batch;
                                               if (chunk.batches_size() < kChunkBatches)
                                                 return true;
                                               visit(chunk);
                                               chunk.clear_batches();
                                               return true;
                                             }));
  for (const proto::EvaluationRecord& evaluation : records.evaluations) {
    *chunk.add_evaluations() = storage::NumberedEvaluation(evaluation, records.record.job());
  }
  visit(chunk);
  return absl::OkStatus();
}

absl::StatusOr<proto::CheckpointList> StateSource::ListCheckpoints(const std::string& job) {
  CAIRN_ASSIGN_OR_RETURN(const auto records, ReadRecords(job));
  proto::CheckpointList list;
  for (const proto::Manifest& manifest : records.manifests) {
    *list.add_manifests() = manifest;
  }
  return list;
}

absl::StatusOr<std::unique_ptr<storage::SnapshotReader>> StateSource::OpenPart(
    uint64_t job_id, const proto::Manifest& checkpoint, uint32_t ps) const {
  const auto open = [&](uint32_t directory, const storage::SnapshotName& name)
      -> absl::StatusOr<std::unique_ptr<storage::SnapshotReader>> {
    CAIRN_ASSIGN_OR_RETURN(const auto store, storage::SnapshotStore::OpenReadOnly(
                                                 absl::StrCat(state_, "/ps-", directory)));
    return store->OpenSnapshot(name);
  };
  // If no file can be opened, returns the error of the ps's own file.
  auto own = open(ps, {job_id, checkpoint.checkpoint()});
  if (own.ok()) return own;
  for (const proto::SnapshotPart& part : checkpoint.parts()) {
    if (part.ps() != ps) continue;
    for (const uint32_t keeper : part.copies()) {
      auto copy = open(keeper, {job_id, checkpoint.checkpoint(), ps});
      if (copy.ok()) return copy;
    }
  }
  return own;
}

absl::StatusOr<std::vector<std::vector<float>>> StateSource::ReadVariables(
    const proto::JobPlan& plan, const proto::Manifest& checkpoint) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<cluster::VariableState> states, ReadStates(plan, checkpoint));
  std::vector<std::vector<float>> variables;
  for (cluster::VariableState& state : states) {
    variables.push_back(TrainedValues(std::move(state)));
  }
  return variables;
}

absl::StatusOr<std::vector<cluster::VariableState>> StateSource::ReadStates(
    const proto::JobPlan& plan, const proto::Manifest& checkpoint) {
  const proto::PartitionMap& partition =
      checkpoint.has_partition() ? checkpoint.partition() : plan.partition();
  CAIRN_RETURN_IF_ERROR(cluster::ValidatePartitionMap(partition));
  std::vector<cluster::VariableState> variables(partition.variables_size());
  for (uint32_t ps = 0; ps < partition.ps_count(); ++ps) {
    const auto blocks = cluster::BlocksOfPs(partition, ps);
    if (blocks.empty()) continue;
    CAIRN_ASSIGN_OR_RETURN(const auto snapshot, OpenPart(plan.job_id(), checkpoint, ps));
    for (const uint32_t id : blocks) {
      CAIRN_ASSIGN_OR_RETURN(const storage::BlockRecord record, snapshot->ReadBlock(id));
      CAIRN_RETURN_IF_ERROR(
          cluster::AddBlockState(partition, id, record.header(), record.payload(), &variables));
    }
  }
  return variables;
}

}  // namespace cairn::cli

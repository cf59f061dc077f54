#ifndef CAIRN_STORAGE_JOB_RECORDS_H_
#define CAIRN_STORAGE_JOB_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/checkpoint.pb.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"
#include "proto/journal.pb.h"
#include "storage/journal.h"

// Keys and messages of the records in the coordinator's journal. The coordinator writes them;
// `cairn` also reads them, from the journal of a stopped cluster. Numbers in keys have a fixed
// width, so records sort by number.
//
// Readers return DataLoss, naming the key, if a record cannot be parsed.
namespace cairn::storage {

// Key of the ClusterRecord.
std::string ClusterKey();
// Prefix of the keys of all records of a job, except those of its JobRecord and DeletedJob.
std::string JobPrefix(uint64_t job_id);
// Greater than all keys with this prefix, and not greater than those of the next job.
std::string EndOfJob(uint64_t job_id);
// Keys of the JobRecord, RunRecord and JobPlan.
std::string JobKey(uint64_t job_id);
std::string RunKey(uint64_t job_id);
std::string PlanKey(uint64_t job_id);
// Key of the Manifest of a checkpoint.
std::string ManifestKey(uint64_t job_id, uint64_t checkpoint);
// Key of a BatchRecord. `batch` is counted from the job's beginning.
std::string BatchKey(uint64_t job_id, int64_t batch);
// Keys of the HistorySums of a job now, and of those at a checkpoint.
std::string HistorySumsKey(uint64_t job_id);
std::string CheckpointSumsKey(uint64_t job_id, uint64_t checkpoint);
// Key of an EvaluationRecord.
std::string EvaluationKey(uint64_t job_id, int64_t epoch);
// Key of a DeletedJob.
std::string DeletedJobKey(uint64_t job_id);
// Key of an EpochRecord. Only jobs with callbacks have them.
std::string EpochKey(uint64_t job_id, int64_t epoch);

// All records of a job except its BatchRecords.
struct JobRecords {
  proto::JobRecord record;
  proto::RunRecord run;                    // Default before the job is first run.
  std::optional<proto::JobPlan> plan;      // Absent until the job's data have been inspected.
  std::vector<proto::Manifest> manifests;  // Oldest first.
  std::vector<proto::EvaluationRecord> evaluations;  // By epoch.
  std::vector<proto::EpochRecord> epochs;            // In order, from epoch 0.
};

// Returns a default record if the journal is new.
absl::StatusOr<proto::ClusterRecord> ReadCluster(const Journal& journal);

// Returns the records of all jobs, oldest first.
absl::StatusOr<std::vector<proto::JobRecord>> ReadJobs(const Journal& journal);

// Returns the records of the deleted jobs of which data are still to be removed.
absl::StatusOr<std::vector<proto::DeletedJob>> ReadDeletedJobs(const Journal& journal);

// NotFound: the job does not exist.
absl::StatusOr<JobRecords> ReadJob(const Journal& journal, uint64_t job_id);

// Default records if there are none.
absl::StatusOr<proto::HistorySums> ReadHistorySums(const Journal& journal, uint64_t job_id);
absl::StatusOr<proto::HistorySums> ReadCheckpointSums(const Journal& journal, uint64_t job_id,
                                                      uint64_t checkpoint);

// Calls `visit` for the records of batches >= `first`, in order, until it returns false.
absl::Status ReadBatches(const Journal& journal, uint64_t job_id, int64_t first,
                         absl::FunctionRef<bool(const proto::BatchRecord&)> visit);

// True if the job failed before it began: its input was wrong. Such a job does not keep its name.
bool WasRefused(const JobRecords& job);
bool WasRefused(const proto::JobStatus& status);

// The id and the name by which a user may refer to a job.
struct JobName {
  uint64_t job_id = 0;
  std::string name;
  bool refused = false;
};

// Reads the names of all jobs, oldest first.
absl::StatusOr<std::vector<JobName>> ReadJobNames(const Journal& journal);

// Returns the id of the job that a user refers to by id or by name; of several jobs with the name,
// the newest that was not refused, or else the newest. NotFound: the message names `reference` and
// the existing jobs.
absl::StatusOr<uint64_t> ResolveJob(absl::Span<const JobName> jobs, const std::string& reference);

// The learning rates of a job, each valid from a batch on: those that callbacks fixed or decided,
// halved by rollbacks. Empty: the optimizer's rate was never changed. The list only grows while no
// decision is withdrawn.
google::protobuf::RepeatedPtrField<proto::RateChange> RatesOf(const proto::RunRecord& run);

// The learning rate with which this batch is trained, by RatesOf; 0 if there are no rates.
double RateOfBatch(const proto::RunRecord& run, int64_t batch);

// The state's name in output: "running", "finished".
std::string StateName(proto::JobState state);

// The state and the status of a job that is not running, from its records. StateFromRecords is
// cheap.
proto::JobState StateFromRecords(const JobRecords& job);
proto::JobStatus StatusFromRecords(const JobRecords& job);

// The evaluation as users see it: epochs are numbered from the job's initial_epoch.
proto::EvaluationRecord NumberedEvaluation(const proto::EvaluationRecord& evaluation,
                                           const proto::Job& job);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_JOB_RECORDS_H_

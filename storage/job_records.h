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

// The records of the coordinator's journal: which key holds which message. The coordinator writes
// them; `cairn` reads them from a journal that nobody serves. Keys sort by number.
//
// Readers answer DataLoss, naming the key, for a record that does not parse.
namespace cairn::storage {

// ClusterRecord.
std::string ClusterKey();
// Everything about one job begins with this.
std::string JobPrefix(uint64_t job_id);
// JobRecord, RunRecord, JobPlan.
std::string JobKey(uint64_t job_id);
std::string RunKey(uint64_t job_id);
std::string PlanKey(uint64_t job_id);
// Manifest.
std::string ManifestKey(uint64_t job_id, uint64_t checkpoint);
// BatchRecord; `batch` counts through the whole job.
std::string BatchKey(uint64_t job_id, int64_t batch);
// EvaluationRecord.
std::string EvaluationKey(uint64_t job_id, int64_t epoch);
// DeletedJob.
std::string DeletedJobKey(uint64_t job_id);
// EpochRecord, of jobs whose callbacks look at epochs.
std::string EpochKey(uint64_t job_id, int64_t epoch);

// One job as the journal has it.
struct JobRecords {
  proto::JobRecord record;
  proto::RunRecord run;                              // Default before the job's first turn.
  std::optional<proto::JobPlan> plan;                // Absent until its data were inspected.
  std::vector<proto::Manifest> manifests;            // Oldest first.
  std::vector<proto::EvaluationRecord> evaluations;  // By epoch.
  std::vector<proto::EpochRecord> epochs;            // From epoch 0 on.
};

// A new journal has none: a default record.
absl::StatusOr<proto::ClusterRecord> ReadCluster(const Journal& journal);

// All jobs, oldest first, without plans, manifests and evaluations.
absl::StatusOr<std::vector<proto::JobRecord>> ReadJobs(const Journal& journal);

// Those of which something is left.
absl::StatusOr<std::vector<proto::DeletedJob>> ReadDeletedJobs(const Journal& journal);

// NotFound: no such job.
absl::StatusOr<JobRecords> ReadJob(const Journal& journal, uint64_t job_id);

// Calls `visit` for the records of batches from `first` on, in order, until it returns false.
absl::Status ReadBatches(const Journal& journal, uint64_t job_id, int64_t first,
                         absl::FunctionRef<bool(const proto::BatchRecord&)> visit);

// The job that a user means by `reference`: an id, or a name, which means its newest job.
// NotFound names the reference and the jobs that there are.
absl::StatusOr<uint64_t> ResolveJob(absl::Span<const proto::JobRecord> jobs,
                                    const std::string& reference);

// "running", "finished": a state as people and scripts see it.
std::string StateName(proto::JobState state);

// What the records say about a job of which no process knows more; the state alone costs nothing.
proto::JobState StateFromRecords(const JobRecords& job);
proto::JobStatus StatusFromRecords(const JobRecords& job);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_JOB_RECORDS_H_

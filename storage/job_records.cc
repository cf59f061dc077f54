#include "storage/job_records.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/nearest_name.h"
#include "common/printable.h"
#include "common/status_macros.h"
#include "storage/rate_changes.h"

namespace cairn::storage {
namespace {

// Fixed width, so that keys sort by number.
std::string Hex(uint64_t number) { return absl::StrFormat("%016x", number); }

template <typename Message>
absl::Status Parse(std::string_view key, std::string_view value, Message* message) {
  if (message->ParseFromArray(value.data(), static_cast<int>(value.size()))) {
    return absl::OkStatus();
  }
  return absl::DataLossError(absl::StrCat("the journal's record ", std::string(key), " (",
                                          value.size(), " bytes) is not a ",
                                          message->GetTypeName()));
}

// Returns false if there is no such record.
template <typename Message>
absl::StatusOr<bool> ReadMessage(const Journal& journal, const std::string& key, Message* message) {
  CAIRN_ASSIGN_OR_RETURN(std::optional<std::string> value, journal.Read(key));
  if (!value.has_value()) return false;
  CAIRN_RETURN_IF_ERROR(Parse(key, *value, message));
  return true;
}

template <typename Message>
absl::StatusOr<std::vector<Message>> ReadAll(const Journal& journal, const std::string& prefix) {
  std::vector<Message> messages;
  absl::Status parsed;
  CAIRN_RETURN_IF_ERROR(
      journal.ReadPrefix(prefix, [&](std::string_view key, std::string_view value) {
        parsed = Parse(key, value, &messages.emplace_back());
        return parsed.ok();
      }));
  CAIRN_RETURN_IF_ERROR(parsed);
  return messages;
}

void FillProgress(const JobRecords& job, proto::JobStatus* status) {
  status->set_batches_done(job.run.batches_done());
  status->set_batches_rejected(job.run.batches_rejected());
  if (!job.plan.has_value()) return;
  const proto::DataPlan& data = job.plan->data();
  if (data.has_train_damaged()) *status->mutable_train_damaged() = data.train_damaged();
  if (data.has_validation_damaged()) {
    *status->mutable_validation_damaged() = data.validation_damaged();
  }
  const int64_t per_epoch = std::max<int64_t>(1, job.plan->batches_per_epoch());
  const int64_t last = std::max<int64_t>(0, job.run.batches_done() - 1);
  status->set_stopped_early(job.run.has_stop_at_batch());
  status->set_total_batches(job.run.has_stop_at_batch() ? job.run.stop_at_batch()
                                                        : job.plan->total_batches());
  status->set_batches_per_epoch(job.plan->batches_per_epoch());
  const int64_t initial = job.record.job().initial_epoch();
  status->set_epochs(initial + (status->total_batches() + per_epoch - 1) / per_epoch);
  status->set_epoch(initial + last / per_epoch);
  status->set_batch_in_epoch(job.run.batches_done() - last / per_epoch * per_epoch);
  status->set_loss(job.run.loss());
  for (int i = 0; i < job.run.metrics_size() && i < job.record.job().metrics_size(); ++i) {
    proto::NamedNumber* metric = status->add_metrics();
    metric->set_name(job.record.job().metrics(i));
    metric->set_value(job.run.metrics(i));
  }
}

void FillFaults(const proto::RunRecord& run, proto::JobStatus* status) {
  status->set_generation(run.generation());
  status->set_rollbacks(run.rollbacks());
  status->set_nonfinite_rollbacks(run.nonfinite_rollbacks());
  status->set_duplicates_refused(run.duplicates_refused());
  status->set_workers_lost(run.workers_lost());
  status->set_workers_joined(run.workers_joined());
  status->set_checkpoints_skipped(run.checkpoints_skipped());
  status->set_checkpoints_failed(run.checkpoints_failed());
  status->set_checkpoint_error(run.checkpoint_error());
  status->set_copies_failed(run.copies_failed());
  status->set_copy_error(run.copy_error());
  status->set_warning(run.warning());
  *status->mutable_notes() = run.notes();
}

void FillCallbacks(const proto::RunRecord& run, proto::JobStatus* status) {
  // Of the next batch, or of the last one.
  const int64_t last = std::max<int64_t>(0, status->total_batches() - 1);
  status->set_learning_rate(RateOfBatch(run, std::min(run.batches_done(), last)));
  *status->mutable_best() = run.best();
}

void FillLosses(const proto::RunRecord& run, proto::JobStatus* status) {
  if (run.has_nonfinite_loss()) *status->mutable_nonfinite_loss() = run.nonfinite_loss();
  if (run.has_nonfinite_validation()) {
    *status->mutable_nonfinite_validation() = run.nonfinite_validation();
  }
}

// Lists the newest jobs, for an error message.
std::string KnownJobs(absl::Span<const JobName> jobs) {
  constexpr size_t kNewest = 10;
  const size_t first = jobs.size() > kNewest ? jobs.size() - kNewest : 0;
  const std::string newest =
      absl::StrJoin(jobs.subspan(first), ", ", [](std::string* out, const JobName& job) {
        absl::StrAppend(out, job.job_id, " (", job.name, ")");
      });
  return first > 0 ? absl::StrCat(first, " older ones, ", newest) : newest;
}

std::vector<std::string> NamesOf(absl::Span<const JobName> jobs) {
  std::vector<std::string> names;
  for (const JobName& job : jobs) names.push_back(job.name);
  return names;
}

}  // namespace

std::string ClusterKey() { return "cluster"; }
std::string JobPrefix(uint64_t job_id) { return absl::StrCat("job/", Hex(job_id), "/"); }
std::string EndOfJob(uint64_t job_id) {
  // '0' follows '/'.
  return absl::StrCat("job/", Hex(job_id), "0");
}
std::string JobKey(uint64_t job_id) { return absl::StrCat("jobs/", Hex(job_id)); }
std::string DeletedJobKey(uint64_t job_id) { return absl::StrCat("deleted/", Hex(job_id)); }
std::string RunKey(uint64_t job_id) { return absl::StrCat(JobPrefix(job_id), "run"); }
std::string PlanKey(uint64_t job_id) { return absl::StrCat(JobPrefix(job_id), "plan"); }

std::string ManifestKey(uint64_t job_id, uint64_t checkpoint) {
  return absl::StrCat(JobPrefix(job_id), "manifest/", Hex(checkpoint));
}

std::string BatchKey(uint64_t job_id, int64_t batch) {
  return absl::StrCat(JobPrefix(job_id), "batch/", Hex(static_cast<uint64_t>(batch)));
}

std::string HistorySumsKey(uint64_t job_id) { return absl::StrCat(JobPrefix(job_id), "sums"); }

std::string CheckpointSumsKey(uint64_t job_id, uint64_t checkpoint) {
  return absl::StrCat(JobPrefix(job_id), "checkpoint_sums/", Hex(checkpoint));
}

std::string EvaluationKey(uint64_t job_id, int64_t epoch) {
  return absl::StrCat(JobPrefix(job_id), "evaluation/", Hex(static_cast<uint64_t>(epoch)));
}

std::string EpochKey(uint64_t job_id, int64_t epoch) {
  return absl::StrCat(JobPrefix(job_id), "epoch/", Hex(static_cast<uint64_t>(epoch)));
}

absl::StatusOr<proto::ClusterRecord> ReadCluster(const Journal& journal) {
  proto::ClusterRecord record;
  CAIRN_RETURN_IF_ERROR(ReadMessage(journal, ClusterKey(), &record).status());
  return record;
}

absl::StatusOr<std::vector<proto::JobRecord>> ReadJobs(const Journal& journal) {
  return ReadAll<proto::JobRecord>(journal, "jobs/");
}

absl::StatusOr<std::vector<proto::DeletedJob>> ReadDeletedJobs(const Journal& journal) {
  return ReadAll<proto::DeletedJob>(journal, "deleted/");
}

absl::StatusOr<JobRecords> ReadJob(const Journal& journal, uint64_t job_id) {
  JobRecords job;
  CAIRN_ASSIGN_OR_RETURN(const bool found, ReadMessage(journal, JobKey(job_id), &job.record));
  if (!found) return absl::NotFoundError(absl::StrCat("there is no job ", job_id));
  CAIRN_RETURN_IF_ERROR(ReadMessage(journal, RunKey(job_id), &job.run).status());
  proto::JobPlan plan;
  CAIRN_ASSIGN_OR_RETURN(const bool planned, ReadMessage(journal, PlanKey(job_id), &plan));
  if (planned) job.plan = std::move(plan);
  CAIRN_ASSIGN_OR_RETURN(job.manifests, ReadAll<proto::Manifest>(
                                            journal, absl::StrCat(JobPrefix(job_id), "manifest/")));
  CAIRN_ASSIGN_OR_RETURN(
      job.evaluations,
      ReadAll<proto::EvaluationRecord>(journal, absl::StrCat(JobPrefix(job_id), "evaluation/")));
  CAIRN_ASSIGN_OR_RETURN(
      job.epochs, ReadAll<proto::EpochRecord>(journal, absl::StrCat(JobPrefix(job_id), "epoch/")));
  return job;
}

absl::StatusOr<proto::HistorySums> ReadHistorySums(const Journal& journal, uint64_t job_id) {
  proto::HistorySums sums;
  CAIRN_RETURN_IF_ERROR(ReadMessage(journal, HistorySumsKey(job_id), &sums).status());
  return sums;
}

absl::StatusOr<proto::HistorySums> ReadCheckpointSums(const Journal& journal, uint64_t job_id,
                                                      uint64_t checkpoint) {
  proto::HistorySums sums;
  CAIRN_RETURN_IF_ERROR(
      ReadMessage(journal, CheckpointSumsKey(job_id, checkpoint), &sums).status());
  return sums;
}

absl::Status ReadBatches(const Journal& journal, uint64_t job_id, int64_t first,
                         absl::FunctionRef<bool(const proto::BatchRecord&)> visit) {
  const std::string begin = BatchKey(job_id, first);
  absl::Status parsed;
  proto::BatchRecord record;
  CAIRN_RETURN_IF_ERROR(journal.ReadPrefix(
      absl::StrCat(JobPrefix(job_id), "batch/"),
      [&](std::string_view key, std::string_view value) {
        parsed = Parse(key, value, &record);
        return parsed.ok() && visit(record);
      },
      begin));
  return parsed;
}

bool WasRefused(const JobRecords& job) {
  return StateFromRecords(job) == proto::FAILED && job.run.generation() == 0;
}

bool WasRefused(const proto::JobStatus& status) {
  return status.state() == proto::FAILED && status.generation() == 0;
}

absl::StatusOr<std::vector<JobName>> ReadJobNames(const Journal& journal) {
  CAIRN_ASSIGN_OR_RETURN(std::vector<proto::JobRecord> jobs, ReadJobs(journal));
  std::vector<JobName> names;
  for (proto::JobRecord& record : jobs) {
    JobRecords job;
    CAIRN_RETURN_IF_ERROR(ReadMessage(journal, RunKey(record.job_id()), &job.run).status());
    job.record = std::move(record);
    names.push_back({job.record.job_id(), job.record.job().name(), WasRefused(job)});
  }
  return names;
}

absl::StatusOr<uint64_t> ResolveJob(absl::Span<const JobName> jobs, const std::string& reference) {
  uint64_t id = 0;
  const char* end = reference.data() + reference.size();
  const bool is_number =
      std::from_chars(reference.data(), end, id).ptr == end && !reference.empty();
  const JobName* named = nullptr;
  for (const JobName& job : jobs) {
    if (is_number && job.job_id == id) return id;
    if (job.name != reference) continue;
    if (named == nullptr || named->refused || !job.refused) named = &job;
  }
  if (named != nullptr) return named->job_id;
  const std::string quoted = absl::StrCat("'", PrintableLine(reference), "'");
  if (jobs.empty()) {
    return absl::NotFoundError(absl::StrCat("there is no job ", quoted, ": there are none"));
  }
  return absl::NotFoundError(absl::StrCat("there is no job ", quoted, "; there are ",
                                          KnownJobs(jobs), DidYouMean(reference, NamesOf(jobs))));
}

google::protobuf::RepeatedPtrField<proto::RateChange> RatesOf(const proto::RunRecord& run) {
  google::protobuf::RepeatedPtrField<proto::RateChange> rates;
  const auto& halved = run.rate_halved_at();
  proto::RateChange last;
  double factor = 1;
  for (int i = 0, j = 0; i < run.rates_size() || j < halved.size();) {
    proto::RateChange* change = rates.Add();
    if (j == halved.size() || (i < run.rates_size() && run.rates(i).from_batch() <= halved[j])) {
      last = run.rates(i++);
    } else {
      factor /= 2;
      // A warm-up goes on from the rate that it has reached.
      last.set_learning_rate(RateChanges::ValueAt(last, halved[j]));
      last.set_from_batch(halved[j++]);
    }
    *change = last;
    change->set_learning_rate(last.learning_rate() * factor);
    change->set_increment(last.increment() * factor);
  }
  return rates;
}

double RateOfBatch(const proto::RunRecord& run, int64_t batch) {
  return RateChanges(RatesOf(run)).At(batch).value_or(0);
}

std::string StateName(proto::JobState state) {
  return state == proto::JOB_STATE_UNSPECIFIED ? "unknown"
                                               : absl::AsciiStrToLower(proto::JobState_Name(state));
}

proto::EvaluationRecord NumberedEvaluation(const proto::EvaluationRecord& evaluation,
                                           const proto::Job& job) {
  proto::EvaluationRecord numbered = evaluation;
  numbered.set_epoch(evaluation.epoch() + job.initial_epoch());
  return numbered;
}

proto::JobState StateFromRecords(const JobRecords& job) {
  if (job.record.state() != proto::RUNNING) return job.record.state();
  const bool restored = job.run.generation() > 1 || job.run.restored();
  return job.plan.has_value() && restored ? proto::RUNNING : proto::PREPARING;
}

proto::JobStatus StatusFromRecords(const JobRecords& job) {
  proto::JobStatus status;
  status.set_job_id(job.record.job_id());
  status.set_name(job.record.job().name());
  status.set_state(StateFromRecords(job));
  status.set_error(job.record.error());
  if (status.state() == proto::UPLOADING) {
    status.set_waiting_for(
        "for its weights; the job ends if nothing is heard for 3 min of the cairn that uploads "
        "them");
  }
  status.set_parameters(job.record.parameters());
  status.set_submitted_unix_seconds(job.record.submitted_unix_seconds());
  status.set_ended_unix_seconds(job.record.ended_unix_seconds());
  *status.mutable_metric_names() = job.record.job().metrics();
  for (const proto::EvaluationRecord& evaluation : job.evaluations) {
    *status.add_evaluations() = NumberedEvaluation(evaluation, job.record.job());
  }
  if (!job.manifests.empty()) status.set_last_checkpoint(job.manifests.back().checkpoint());
  FillProgress(job, &status);
  FillFaults(job.run, &status);
  FillCallbacks(job.run, &status);
  FillLosses(job.run, &status);
  return status;
}

}  // namespace cairn::storage

#include "coordinator/training/epoch_callbacks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/failpoint.h"
#include "common/file_operation.h"
#include "common/status_macros.h"
#include "coordinator/callbacks/planned_rates.h"
#include "coordinator/note.h"
#include "storage/job_records.h"
#include "storage/rate_changes.h"

namespace cairn::coordinator {
namespace {

std::unique_ptr<EpochDecisions> MakeDecisions(const proto::Job& job) {
  absl::StatusOr<EpochDecisions> decisions = EpochDecisions::Create(job);
  CAIRN_CHECK(decisions.ok());  // The job was validated.
  return std::make_unique<EpochDecisions>(*std::move(decisions));
}

void AddRate(int64_t from_batch, float rate, proto::RunRecord* run) {
  proto::RateChange* change = run->add_rates();
  change->set_from_batch(from_batch);
  change->set_learning_rate(rate);
}

void AddWritten(const CsvLogger& log, proto::RunRecord* run) {
  const CsvLogger::Written written = log.written();
  run->add_csv_begins(written.begin);
  run->add_csv_ends(written.end);
  run->add_csv_fingerprints(written.fingerprint);
  run->add_csv_whole_ends(written.whole_end);
  run->add_csv_whole_fingerprints(written.whole_fingerprint);
}

// What the journal has of the file of a logger; nullopt: that of an older version lacks it.
std::optional<CsvLogger::Written> FindWritten(const proto::RunRecord& run, int place) {
  if (place >= run.csv_begins_size() || place >= run.csv_ends_size() ||
      place >= run.csv_fingerprints_size()) {
    return std::nullopt;
  }
  CsvLogger::Written written = {run.csv_begins(place), run.csv_ends(place),
                                run.csv_fingerprints(place)};
  const bool has_whole =
      place < run.csv_whole_ends_size() && place < run.csv_whole_fingerprints_size();
  written.whole_end = has_whole ? run.csv_whole_ends(place) : written.end;
  written.whole_fingerprint = has_whole ? run.csv_whole_fingerprints(place) : written.fingerprint;
  return written;
}

const proto::Manifest* FindAtEnd(const std::vector<proto::Manifest>& manifests, int64_t end) {
  for (const proto::Manifest& manifest : manifests) {
    if (manifest.applied_batches() == end && manifest.ledger().low_water() == end) return &manifest;
  }
  return nullptr;
}

}  // namespace

EpochCallbacks::EpochCallbacks(const Context& context)
    : plan_(*context.plan),
      run_(*context.run),
      history_(*context.history),
      csv_patience_(context.csv_patience),
      decisions_(MakeDecisions(plan_.job())) {
  // The journal of an older version may lack them.
  if (run_.rates().empty()) *run_.mutable_rates() = PlannedRates(plan_);
  std::vector<CsvLogger>& logs = decisions_->csv_loggers();
  for (size_t i = 0; i < logs.size(); ++i) {
    const auto place = static_cast<int>(i);
    logs[i].Start(place < run_.csv_begins_size() ? run_.csv_begins(place) : 0);
  }
  // Replaying the epochs brings the callbacks to the state in which the previous coordinator
  // process left them.
  const storage::RateChanges decided(run_.rates());
  const storage::RateChanges trained(storage::RatesOf(run_));
  for (const proto::EpochRecord& record : history_.epochs()) {
    const int64_t epoch = decisions_->epochs();
    const int64_t last = EndOf(epoch) - 1;
    decisions_->Take(record, decided.At(last).value_or(0));
    LogToCsv(epoch, record, trained.At(last).value_or(0));
  }
  FlushCsv(csv_patience_);  // An error is noted at the next epoch.
}

void EpochCallbacks::Prepare(const proto::JobPlan& plan, int64_t low_water, proto::RunRecord* run,
                             absl::Duration csv_patience) {
  auto rates = PlannedRates(plan);
  for (const proto::RateChange& change : run->rates()) {
    if (!change.planned() && change.from_batch() <= low_water) *rates.Add() = change;
  }
  run->mutable_rates()->Swap(&rates);
  // What was halved stays so, now from an earlier batch on.
  for (int64_t& batch : *run->mutable_rate_halved_at()) batch = std::min(batch, low_water);
  if (run->stop_at_batch() > low_water) run->clear_stop_at_batch();
  if (!run->csv_begins().empty()) return;
  const std::unique_ptr<EpochDecisions> decisions = MakeDecisions(plan.job());
  const TimeLimit limit(csv_patience);
  for (CsvLogger& log : decisions->csv_loggers()) {
    log.Start(log.SizeBefore(limit.left()));
    AddWritten(log, run);
  }
}

absl::Status EpochCallbacks::CheckFiles(const proto::JobPlan& plan, const proto::RunRecord& run,
                                        absl::Duration csv_patience) {
  const std::unique_ptr<EpochDecisions> decisions = MakeDecisions(plan.job());
  const std::vector<CsvLogger>& logs = decisions->csv_loggers();
  const TimeLimit limit(csv_patience);
  for (int i = 0; i < static_cast<int>(logs.size()); ++i) {
    const std::optional<CsvLogger::Written> written = FindWritten(run, i);
    if (!written.has_value()) continue;
    CAIRN_RETURN_IF_ERROR(logs[i].CheckUnchanged(*written, limit.left()));
  }
  return absl::OkStatus();
}

void EpochCallbacks::HalveRate(const proto::Job& job, int64_t from_batch, proto::RunRecord* run) {
  if (run->rates().empty()) AddRate(0, InitialRate(job), run);
  for (int64_t& batch : *run->mutable_rate_halved_at()) batch = std::min(batch, from_batch);
  run->add_rate_halved_at(from_batch);
}

int64_t EpochCallbacks::EndOf(int64_t epoch) const {
  return std::min((epoch + 1) * plan_.batches_per_epoch(), plan_.total_batches());
}

// If a callback may change the rate or stop the job, the next epoch is leased only after the
// decision about the previous one. Otherwise the cut alone limits it.
int64_t EpochCallbacks::EpochsAllowed() const {
  return decisions_->changes_training() ? decisions_->epochs() + 1 : run_.epochs_cut() + 1;
}

bool EpochCallbacks::complete() const {
  return !decisions_->any() || decisions_->epochs() >= run_.epochs_cut();
}

void EpochCallbacks::Advance(EventTime now, Outbox* outbox) {
  if (!csv_no_answer_.empty()) RetryCsv(now, outbox);
  while (!complete()) {
    const int64_t epoch = decisions_->epochs();
    // Epochs are decided in order: the callbacks compare each epoch with earlier ones.
    const bool is_evaluated = run_.kept_cut().to_evaluate() && run_.kept_cut().epoch() == epoch;
    if (is_evaluated && !history_.HasEvaluation(epoch)) return;
    Decide(epoch, now, outbox);
  }
}

proto::EpochRecord EpochCallbacks::MakeRecord(int64_t epoch) const {
  proto::EpochRecord record;
  const History::Means means = history_.MeansOf(epoch);
  proto::EvaluationRecord* training = record.mutable_training();
  training->set_epoch(epoch);
  training->set_examples(means.examples);
  training->set_loss(means.loss);
  training->mutable_metrics()->Assign(means.metrics.begin(), means.metrics.end());
  if (const auto* evaluation = history_.FindEvaluation(epoch)) {
    *record.mutable_validation() = *evaluation;
  }
  return record;
}

// The epoch's record and the decision go into one synced write: a crash leaves both or neither.
void EpochCallbacks::Decide(int64_t epoch, EventTime now, Outbox* outbox) {
  const proto::EpochRecord record = MakeRecord(epoch);
  history_.Add(record, outbox);
  EpochDecisions::Outcome outcome = decisions_->Take(record, RateOfEpoch(epoch));
  for (std::string& note : outcome.notes) AddNote(plan_.job_id(), std::move(note), now, &run_);
  const int64_t end = EndOf(epoch);
  // After the last epoch there is nothing to stop and no batch for a new rate.
  if (end < plan_.total_batches()) {
    if (outcome.stop) {
      run_.set_stop_at_batch(end);
    } else if (outcome.learning_rate.has_value()) {
      SetRate(epoch, *outcome.learning_rate, now);
    }
  }
  LogToCsv(epoch, record, storage::RateOfBatch(run_, end - 1));
  // Nothing is waited for as long as a file does not answer.
  FlushCsv(csv_no_answer_.empty() ? csv_patience_ : absl::ZeroDuration());
  NoteCsv(/*is_last=*/end >= plan_.total_batches() || run_.has_stop_at_batch(), now);
  Save(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.decide_epoch"); });
}

// As in Horovod, a warm-up sets the rate again before the next epoch, whatever was decided.
void EpochCallbacks::SetRate(int64_t epoch, float rate, EventTime now) {
  const int64_t end = EndOf(epoch);
  const bool warms_up = std::any_of(
      run_.rates().begin(), run_.rates().end(),
      [end](const proto::RateChange& each) { return each.planned() && each.from_batch() > end; });
  if (!warms_up) return AddRate(end, rate, &run_);
  AddNote(plan_.job_id(), "the warm-up goes on: learning_rate_warmup sets the rate", now, &run_);
}

float EpochCallbacks::RateOfEpoch(int64_t epoch) const {
  return storage::RateChanges(run_.rates()).At(EndOf(epoch) - 1).value_or(0);
}

void EpochCallbacks::LogToCsv(int64_t epoch, const proto::EpochRecord& record, double rate) {
  for (CsvLogger& log : decisions_->csv_loggers()) {
    log.Add(plan_.job().initial_epoch() + epoch, record, rate);
  }
}

void EpochCallbacks::FlushCsv(absl::Duration patience) {
  csv_error_.clear();
  csv_no_answer_.clear();
  run_.clear_csv_begins();
  run_.clear_csv_ends();
  run_.clear_csv_fingerprints();
  run_.clear_csv_whole_ends();
  run_.clear_csv_whole_fingerprints();
  const TimeLimit limit(patience);
  for (CsvLogger& log : decisions_->csv_loggers()) {
    const absl::Status status = log.Flush(limit.left());
    AddWritten(log, &run_);
    std::string& text = absl::IsUnavailable(status) ? csv_no_answer_ : csv_error_;
    if (!status.ok() && text.empty()) text = std::string(status.message());
  }
}

bool EpochCallbacks::NoteCsv(bool is_last, EventTime now) {
  std::string text;
  if (!csv_error_.empty() && !is_csv_error_noted_) {
    text = absl::StrCat(
        "WARNING: csv_logger: ", csv_error_,
        is_last ? "; its last lines are missing" : "; tried again with the next epoch");
  }
  const bool waits = !csv_no_answer_.empty();
  if (waits && is_last) {
    text = absl::StrCat("WARNING: csv_logger: ", csv_no_answer_,
                        "; its last lines are written when it answers, unless the coordinator ends "
                        "before");
  } else if (waits && !is_csv_no_answer_noted_) {
    text = absl::StrCat("WARNING: csv_logger: ", csv_no_answer_,
                        "; the job goes on, and its lines are written when it answers");
  } else if (!waits && is_csv_no_answer_noted_ && csv_error_.empty()) {
    text = "csv_logger: all files answer again, and have all lines";
  }
  is_csv_error_noted_ = !csv_error_.empty();
  is_csv_no_answer_noted_ = waits;
  if (text.empty()) return false;
  AddNote(plan_.job_id(), std::move(text), now, &run_);
  return true;
}

void EpochCallbacks::RetryCsv(EventTime now, Outbox* outbox) {
  constexpr absl::Duration kInterval = absl::Milliseconds(50);
  if (now.monotonic < csv_retry_due_) return;
  csv_retry_due_ = now.monotonic + kInterval;
  const std::vector<int64_t> begins(run_.csv_begins().begin(), run_.csv_begins().end());
  FlushCsv(absl::ZeroDuration());
  const bool is_noted = NoteCsv(/*is_last=*/false, now);
  const bool is_same =
      std::equal(begins.begin(), begins.end(), run_.csv_begins().begin(), run_.csv_begins().end());
  if (is_noted || !is_same || csv_no_answer_.empty()) Save(outbox);
}

bool EpochCallbacks::ChooseBest(const std::vector<proto::Manifest>& manifests, Outbox* outbox) {
  proto::RunRecord chosen;
  for (const EpochDecisions::Best& best : decisions_->bests()) {
    if (const proto::Manifest* manifest =
            FindAtEnd(manifests, EndOf(best.epoch.epoch - plan_.job().initial_epoch()))) {
      proto::BestCheckpoint* entry = chosen.add_best();
      entry->set_callback(best.callback);
      entry->set_monitor(best.monitor);
      entry->set_value(best.epoch.value);
      entry->set_epoch(best.epoch.epoch);
      entry->set_checkpoint(manifest->checkpoint());
      entry->set_is_result(best.epoch.is_result);
      continue;
    }
    // The checkpoint is not written yet, or its write failed. The previous best one stays pinned.
    for (const proto::BestCheckpoint& old : run_.best()) {
      const bool exists = std::any_of(manifests.begin(), manifests.end(), [&](const auto& each) {
        return each.checkpoint() == old.checkpoint();
      });
      if (old.callback() == best.callback && exists) *chosen.add_best() = old;
    }
  }
  const auto text = [](const proto::RunRecord& record) {
    proto::RunRecord only;
    *only.mutable_best() = record.best();
    return only.SerializeAsString();
  };
  if (text(chosen) == text(run_)) return false;
  *run_.mutable_best() = chosen.best();
  Save(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.choose_best"); });
  return true;
}

void EpochCallbacks::Save(Outbox* outbox) const {
  outbox->PutSynced(storage::RunKey(plan_.job_id()), run_);
}

}  // namespace cairn::coordinator

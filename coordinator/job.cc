#include "coordinator/job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "coordinator/job_plan.h"

namespace cairn::coordinator {
namespace {

// Clients show them as they come; beyond so many nobody reads.
constexpr int kNotesMax = 1000;

proto::Command StopCommand(uint64_t job_id) {
  proto::Command command;
  command.mutable_stop_job()->set_job_id(job_id);
  return command;
}

}  // namespace

Job::Job(Context context, storage::JobRecords records)
    : members_(*context.members),
      journal_(*context.journal),
      record_(std::move(records.record)),
      run_(std::move(records.run)),
      plan_(std::move(records.plan)),
      manifests_(std::move(records.manifests)),
      evaluations_(std::move(records.evaluations)),
      duplicates_seen_(record_.partition().ps_count()) {}

bool Job::over() const {
  return record_.phase() == proto::JobRecord::FINISHED_PHASE ||
         record_.phase() == proto::JobRecord::FAILED_PHASE ||
         record_.phase() == proto::JobRecord::CANCELLED_PHASE;
}

bool Job::ready() const {
  return record_.phase() == proto::JobRecord::QUEUED_PHASE ||
         record_.phase() == proto::JobRecord::STARTED_PHASE;
}

const std::vector<proto::Manifest>& Job::manifests() const {
  return training_ != nullptr ? training_->manifests() : manifests_;
}

void Job::SaveRun(Outbox* outbox) { outbox->PutSynced(storage::RunKey(id()), run_); }

void Job::Note(std::string line) {
  CAIRN_LOG_INFO("job", "job", id(), "note", line);
  if (run_.notes_size() < kNotesMax) run_.add_notes(std::move(line));
}

// ------------------------------------------------------------------------------ before its turn

void Job::CommitWeights(Outbox* outbox) {
  record_.set_phase(proto::JobRecord::QUEUED_PHASE);
  outbox->PutSynced(storage::JobKey(id()), record_);
}

void Job::Activate(Moment now, Outbox* outbox) {
  if (record_.phase() == proto::JobRecord::QUEUED_PHASE) {
    record_.set_phase(proto::JobRecord::STARTED_PHASE);
    outbox->PutSynced(storage::JobKey(id()), record_);
  }
  if (!plan_.has_value()) {
    phase_ = Phase::kInspecting;
    return;
  }
  restoration_.emplace(plan_->partition().ps_count());
  phase_ = run_.restored() ? Phase::kResuming : Phase::kRestoring;
}

void Job::AdvanceInspection(Outbox* outbox) {
  const std::vector<TaskId> workers = LiveWorkers();
  if (inspector_.has_value() || workers.empty()) return;
  inspector_ = workers.front();
  proto::Command command;
  command.mutable_inspect()->set_job_id(id());
  *command.mutable_inspect()->mutable_job() = record_.job();
  *command.mutable_inspect()->mutable_model() = record_.model();
  outbox->Send(*inspector_, std::move(command));
}

void Job::OnInspected(TaskId worker, const proto::InspectReply& reply, Moment now, Outbox* outbox) {
  if (phase_ != Phase::kInspecting || inspector_ != worker) return;
  if (!reply.error().empty()) return Fail(reply.error(), now, outbox);
  absl::StatusOr<proto::JobPlan> plan = MakeJobPlan(record_, reply);
  if (!plan.ok()) return Fail(std::string(plan.status().message()), now, outbox);
  plan_ = *std::move(plan);
  inspector_.reset();
  outbox->PutSynced(storage::PlanKey(id()), *plan_);
  NextGeneration(0, outbox);
}

// ------------------------------------------------------------------------------------ restoring

// Journalled before any ps hears of it, so that no later coordinator uses the number again.
void Job::NextGeneration(uint64_t checkpoint, Outbox* outbox) {
  run_.set_generation(run_.generation() + 1);
  run_.set_base_checkpoint(checkpoint);
  run_.set_restored(false);
  run_.clear_held_cut();
  SaveRun(outbox);
  holding_.clear();
  unfit_.clear();
  restoration_.emplace(plan_->partition().ps_count());
  phase_ = Phase::kRestoring;
}

void Job::RollBack(const std::string& why, Moment now, Outbox* outbox) {
  if (training_ != nullptr) {
    manifests_ = training_->manifests();
    training_->Abandon(absl::UnavailableError(absl::StrCat(why, "; the job rolls back")), outbox);
    training_.reset();
  }
  if (manifests_.empty() && record_.job().on_lost_checkpoint() == "fail") {
    return Fail(absl::StrCat(why, ", and there is no checkpoint to go back to"), now, outbox);
  }
  const uint64_t checkpoint = manifests_.empty() ? 0 : manifests_.back().checkpoint();
  const std::string target =
      checkpoint == 0 ? "the initial values" : absl::StrCat("checkpoint ", checkpoint);
  if (run_.stopped()) {
    Note(absl::StrCat("goes on from ", target));
  } else {
    run_.set_rollbacks(run_.rollbacks() + 1);
    Note(absl::StrCat(why, ": back to ", target));
  }
  run_.set_stopped(false);
  NextGeneration(checkpoint, outbox);
}

void Job::AdvanceRestoration(Moment now, Outbox* outbox) {
  if (!HasAllPs()) return;
  if (phase_ == Phase::kRestoring) {
    std::vector<bool> live;
    for (uint32_t ps = 0; ps < plan_->partition().ps_count(); ++ps) {
      live.push_back(members_.IsLive(PsTask(ps)));
    }
    proto::Command command;
    *command.mutable_restore()->mutable_plan() = *plan_;
    command.mutable_restore()->set_generation(run_.generation());
    command.mutable_restore()->set_checkpoint(run_.base_checkpoint());
    for (const uint32_t ps : restoration_->TakeUntold(live)) outbox->Send(PsTask(ps), command);
  }
  if (restoration_->complete()) BeginTraining(now, outbox);
}

void Job::OnRestored(uint32_t ps, const proto::RestoreReply& reply, Moment now, Outbox* outbox) {
  if (phase_ != Phase::kRestoring || reply.generation() != run_.generation() ||
      reply.checkpoint() != run_.base_checkpoint()) {
    return;
  }
  const std::string error = restoration_->Reply(ps, reply);
  if (!error.empty()) RestoreFailed(absl::StrCat("ps ", ps, ": ", error), now, outbox);
}

void Job::RestoreFailed(const std::string& error, Moment now, Outbox* outbox) {
  const uint64_t checkpoint = run_.base_checkpoint();
  if (checkpoint == 0) {
    return Fail(absl::StrCat("the initial values cannot be loaded: ", error), now, outbox);
  }
  // What cannot be read must not be tried again after the job has gone another way.
  std::erase_if(manifests_, [&](const auto& m) { return m.checkpoint() == checkpoint; });
  outbox->Erase(storage::ManifestKey(id(), checkpoint));
  proto::Command command;
  command.mutable_delete_checkpoint()->set_job_id(id());
  command.mutable_delete_checkpoint()->set_checkpoint(checkpoint);
  for (const TaskId ps : members_.Live(proto::PS)) outbox->Send(ps, command);
  Note(absl::StrCat("checkpoint ", checkpoint, " cannot be loaded (", error, ")"));
  if (manifests_.empty() && record_.job().on_lost_checkpoint() == "fail") {
    return Fail("no complete checkpoint is left", now, outbox);
  }
  const uint64_t next = manifests_.empty() ? 0 : manifests_.back().checkpoint();
  Note(next == 0 ? "begins again from the initial values"
                 : absl::StrCat("goes back further, to checkpoint ", next));
  NextGeneration(next, outbox);
}

// In which epoch a restored job is. One that ends exactly where the checkpoint was made counts as
// not ended while its evaluation is missing.
int64_t Job::EpochsCut(const BatchRanges& open) const {
  const int64_t per_epoch = plan_->batches_per_epoch();
  const int64_t total = plan_->total_batches();
  const int64_t low_water = open.empty() ? total : open.front();
  const int64_t epochs =
      low_water == total ? (total + per_epoch - 1) / per_epoch : low_water / per_epoch;
  const bool at_end = low_water == std::min(epochs * per_epoch, total) &&
                      total - open.size() == low_water && epochs > 0;
  const bool evaluation_missing =
      plan_->validation_examples() > 0 && !history_->HasEvaluation(epochs - 1);
  return at_end && evaluation_missing ? epochs - 1 : epochs;
}

void Job::BeginTraining(Moment now, Outbox* outbox) {
  absl::StatusOr<Settled> settled = CombineLedgers(restoration_->Ledgers(), plan_->total_batches());
  if (!settled.ok()) return Fail(std::string(settled.status().message()), now, outbox);
  auto history =
      History::Load(&journal_, id(), plan_->batches_per_epoch(), record_.job().metrics_size());
  if (!history.ok()) return Fail(std::string(history.status().message()), now, outbox);
  history_ = *std::move(history);
  if (phase_ == Phase::kRestoring) {
    const absl::Status unsettled = history_->Unsettle(settled->open, outbox);
    if (!unsettled.ok()) return Fail(std::string(unsettled.message()), now, outbox);
    run_.set_epochs_cut(EpochsCut(settled->open));
    run_.set_restored(true);
    SaveRun(outbox);
  }
  const bool resumed = phase_ == Phase::kResuming;
  if (resumed) Note("the coordinator is back; nothing was lost");
  phase_ = Phase::kTraining;
  training_ = std::make_unique<Training>(Training::Context{&*plan_, &run_, history_.get()},
                                         std::move(settled->open), manifests_);
  if (resumed) training_->Resumed(now, outbox);
  for (const TaskId worker : LiveWorkers()) {
    auto held = holding_.find(worker);
    if (held == holding_.end()) {
      StartJobOn(worker, outbox);
    } else {
      training_->AddWorker(worker);
      training_->Adopt(worker, held->second);
    }
  }
  holding_.clear();
}

// -------------------------------------------------------------------------------------- members

bool Job::KeepsLeases(const proto::Join& join, const Membership::Joined& joined) const {
  return joined.first && joined.task.role != proto::PS && join.job_id() == id() &&
         join.generation() == run_.generation() &&
         (phase_ == Phase::kResuming || phase_ == Phase::kTraining);
}

void Job::WorkerJoined(TaskId worker, const proto::Join& join, bool keeps_leases, Outbox* outbox) {
  unfit_.erase(worker);
  run_.set_workers_joined(run_.workers_joined() + (keeps_leases ? 0 : 1));
  if (phase_ == Phase::kTraining && !keeps_leases) StartJobOn(worker, outbox);
  if (!keeps_leases) return;
  const std::vector<proto::Split> holding(join.holding().begin(), join.holding().end());
  if (phase_ == Phase::kTraining) {
    training_->AddWorker(worker);
    training_->Adopt(worker, holding);
  } else {
    holding_[worker] = holding;
  }
}

void Job::WorkerGone(TaskId worker, Outbox* outbox) {
  holding_.erase(worker);
  unfit_.erase(worker);
  if (inspector_ == worker) inspector_.reset();
  if (phase_ == Phase::kInspecting) return;
  run_.set_workers_lost(run_.workers_lost() + 1);
  Note(absl::StrCat(worker.Name(), " is gone; its batches go to others"));
  if (training_ != nullptr) training_->RemoveWorker(worker);
}

void Job::PsJoined(uint32_t ps, const proto::Join& join, bool continues, Outbox* outbox) {
  if (!restoration_.has_value()) return;
  const bool has_job = join.job_id() == id() && join.generation() == run_.generation();
  if (!continues) duplicates_seen_[ps] = has_job ? join.duplicates_refused() : 0;
  if (phase_ == Phase::kTraining && continues && has_job) return training_->PsReturned(ps, outbox);
  if (phase_ == Phase::kResuming && has_job) return restoration_->PsHas(ps, join.ledger());
  if (phase_ == Phase::kRestoring)
    return continues ? restoration_->PsAway(ps) : restoration_->PsLost(ps);
  lost_ps_ = ps;
}

void Job::PsAway(uint32_t ps) {
  if (phase_ == Phase::kRestoring) restoration_->PsAway(ps);
}

void Job::PsLost(uint32_t ps, Moment now, Outbox* outbox) {
  if (!restoration_.has_value()) return;
  restoration_->PsLost(ps);
  if (phase_ == Phase::kTraining || phase_ == Phase::kResuming) {
    RollBack(absl::StrCat("ps ", ps, " was lost"), now, outbox);
  }
}

void Job::StartJobOn(TaskId worker, Outbox* outbox) {
  proto::Command command;
  *command.mutable_start_job()->mutable_plan() = *plan_;
  command.mutable_start_job()->set_generation(run_.generation());
  outbox->Send(worker, std::move(command));
  training_->AddWorker(worker);
}

std::vector<TaskId> Job::LiveWorkers() const {
  std::vector<TaskId> workers = members_.Live(proto::WORKER);
  if (phase_ == Phase::kTraining) {
    for (const TaskId evaluator : members_.Live(proto::EVALUATOR)) workers.push_back(evaluator);
  }
  std::erase_if(workers, [&](TaskId worker) { return unfit_.contains(worker); });
  return workers;
}

bool Job::HasAllPs() const {
  const size_t ps_count = members_.options().ps_addresses.size();
  return ps_count == record_.partition().ps_count() && MissingPs().empty();
}

// "ps 1, ps 3", or empty.
std::string Job::MissingPs() const {
  std::string missing;
  for (uint32_t ps = 0; ps < record_.partition().ps_count(); ++ps) {
    if (members_.IsLive(PsTask(ps))) continue;
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", PsTask(ps).Name());
  }
  return missing;
}

// ------------------------------------------------------------------------------------- messages

void Job::OnMessage(TaskId task, const proto::TaskMessage& message, Moment now, Outbox* outbox) {
  const bool from_ps = task.role == proto::PS;
  const bool ours = record_.partition().ps_count() > task.index || !from_ps;
  if (!ours) return;
  if (message.has_heartbeat() && from_ps) {
    OnHeartbeat(task.index, message.heartbeat().duplicates_refused());
  } else if (message.has_inspected() && message.inspected().job_id() == id()) {
    OnInspected(task, message.inspected(), now, outbox);
  } else if (message.has_failure() && message.failure().job_id() == id()) {
    OnFailure(task, message.failure());
  } else if (message.has_restored() && from_ps && message.restored().job_id() == id()) {
    OnRestored(task.index, message.restored(), now, outbox);
  }
  if (training_ == nullptr) return;
  if (message.has_work() && message.work().job_id() == id() &&
      message.work().generation() == run_.generation()) {
    training_->OnWork(task, message.work(), now, outbox);
  } else if (message.has_held()) {
    training_->OnHeld(task, message.held());
  } else if (message.has_cut() && from_ps) {
    training_->OnCut(task.index, message.cut());
  } else if (message.has_persisted() && from_ps) {
    training_->OnPersist(task.index, message.persisted());
  } else if (message.has_ledger() && from_ps) {
    training_->OnLedger(task.index, message.ledger());
  }
}

void Job::OnHeartbeat(uint32_t ps, uint64_t duplicates_refused) {
  if (!restoration_.has_value()) return;
  uint64_t& seen = duplicates_seen_[ps];
  // A ps counts from 0 when its process or the generation is new.
  run_.set_duplicates_refused(run_.duplicates_refused() + duplicates_refused -
                              (duplicates_refused < seen ? 0 : seen));
  seen = duplicates_refused;
}

void Job::OnFailure(TaskId worker, const proto::JobFailure& failure) {
  if (phase_ != Phase::kInspecting && failure.generation() != run_.generation()) return;
  if (inspector_ == worker) inspector_.reset();
  if (training_ != nullptr) training_->RemoveWorker(worker);
  Note(absl::StrCat("cannot be done by ", worker.Name(), ": ", failure.error()));
  unfit_[worker] = failure.error();
}

// The job is lost when nobody is left who could do it; a worker that is only away may come back.
void Job::FailIfNobodyCan(Moment now, Outbox* outbox) {
  if (unfit_.empty() || !LiveWorkers().empty()) return nobody_since_.reset();
  if (!nobody_since_.has_value()) nobody_since_ = now.monotonic;
  bool someone_is_away = false;
  for (const uint32_t index : members_.options().named_workers) {
    someone_is_away |= !members_.IsLive(WorkerTask(index));
  }
  if (someone_is_away && now.monotonic - *nobody_since_ < members_.options().lease) return;
  const auto& [worker, error] = *unfit_.begin();
  Fail(absl::StrCat(worker.Name(), ": ", error), now, outbox);
}

// ------------------------------------------------------------------------------------- progress

void Job::Advance(Moment now, Outbox* outbox) {
  if (lost_ps_.has_value()) {
    const uint32_t ps = *std::exchange(lost_ps_, std::nullopt);
    PsLost(ps, now, outbox);
  }
  FailIfNobodyCan(now, outbox);
  if (phase_ == Phase::kInspecting) AdvanceInspection(outbox);
  if (phase_ == Phase::kResuming || phase_ == Phase::kRestoring) AdvanceRestoration(now, outbox);
  if (phase_ != Phase::kTraining) return;
  training_->Advance(now, outbox);
  if (training_->finished()) Finish(now, outbox);
}

void Job::AskForCheckpoint(const std::string& reason, CheckpointCallback callback, Outbox* outbox) {
  if (phase_ == Phase::kTraining) {
    return training_->AskForCheckpoint(reason, std::move(callback));
  }
  const absl::Status status = absl::FailedPreconditionError(
      absl::StrCat("job ", id(), " does not train now (",
                   proto::JobState_Name(Status(absl::ZeroDuration()).state()), ")"));
  outbox->replies.push_back(
      [callback = std::move(callback), status]() mutable { callback(status); });
}

void Job::Resume() {
  run_.set_stopped(false);
  if (training_ != nullptr) training_->Resume();
}

void Job::Finish(Moment now, Outbox* outbox) {
  End(proto::JobRecord::FINISHED_PHASE, "", now, outbox);
}

void Job::Fail(const std::string& why, Moment now, Outbox* outbox) {
  End(proto::JobRecord::FAILED_PHASE, why, now, outbox);
}

void Job::Cancel(Moment now, Outbox* outbox) {
  End(proto::JobRecord::CANCELLED_PHASE, "", now, outbox);
}

void Job::End(proto::JobRecord::Phase phase, const std::string& error, Moment now, Outbox* outbox) {
  if (history_ != nullptr) evaluations_ = history_->evaluations();
  if (training_ != nullptr) {
    manifests_ = training_->manifests();
    training_->Abandon(absl::FailedPreconditionError(absl::StrCat("job ", id(), " is over")),
                       outbox);
    training_.reset();
  }
  const bool was_active = active();
  phase_ = Phase::kIdle;
  record_.set_phase(phase);
  record_.set_error(error);
  record_.set_ended_unix_seconds(now.unix_seconds);
  outbox->PutSynced(storage::JobKey(id()), record_);
  SaveRun(outbox);
  CAIRN_LOG_INFO("job over", "job", id(), "phase", proto::JobRecord::Phase_Name(phase), "error",
                 error);
  if (!was_active) return;
  for (const auto& [task, member] : members_.members()) {
    if (member.live()) outbox->Send(task, StopCommand(id()));
  }
}

std::string Job::WaitingFor() const {
  const size_t ps_count = members_.options().ps_addresses.size();
  if (record_.partition().ps_count() != ps_count) {
    return absl::StrCat("for a cluster of ", record_.partition().ps_count(), " ps (this one has ",
                        ps_count, ")");
  }
  const std::string missing = MissingPs();
  if (!missing.empty()) return absl::StrCat("for ", missing);
  if (phase_ == Phase::kInspecting && !inspector_.has_value()) return "for workers";
  if (phase_ == Phase::kInspecting)
    return absl::StrCat("for ", inspector_->Name(), " to read the data");
  return phase_ == Phase::kRestoring ? "for the ps to load their blocks" : "";
}

proto::JobStatus Job::Status(absl::Duration now) {
  storage::JobRecords records;
  records.record = record_;
  records.run = run_;
  records.plan = plan_;
  records.evaluations = history_ != nullptr ? history_->evaluations() : evaluations_;
  if (!manifests().empty()) records.manifests = {manifests().back()};
  proto::JobStatus status = storage::StatusFromRecords(records);
  if (!active()) return status;
  status.set_workers_live(static_cast<int64_t>(members_.Live(proto::WORKER).size()));
  status.set_ps_live(static_cast<int64_t>(members_.Live(proto::PS).size()));
  status.set_waiting_for(WaitingFor());
  if (phase_ == Phase::kRestoring && run_.generation() > 1) status.set_state(proto::RESTORING);
  if (training_ == nullptr) return status;
  training_->FillStatus(now, &status);
  const History::Means means = history_->EpochMeans();
  status.set_loss(means.loss);
  status.clear_metrics();
  for (int i = 0; i < status.metric_names_size() && means.batches > 0; ++i) {
    proto::NamedNumber* metric = status.add_metrics();
    metric->set_name(status.metric_names(i));
    metric->set_value(means.metrics[i]);
  }
  return status;
}

}  // namespace cairn::coordinator

#include "coordinator/job.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "coordinator/callbacks/nonfinite_loss.h"
#include "coordinator/training/epoch_callbacks.h"
#include "job/job_plan.h"
#include "job/strategy.h"

namespace cairn::coordinator {
namespace {

absl::Duration CsvPatience(const Membership& members) {
  return CsvLogger::PatienceFor(members.options().progress_timeout);
}

// The devices that compute the job; none: all. Names are those of one worker. A job that came from
// such a cluster to another one is computed by whatever is there.
std::vector<std::string> DevicesOf(const Membership& members, const proto::Job& job) {
  const MembershipOptions& options = members.options();
  if (!options.workers_hold_parameters || options.named_workers.size() != 1) return {};
  return job::NamedDevices(job.strategy());
}

proto::Command StopCommand(uint64_t job_id) {
  proto::Command command;
  command.mutable_stop_job()->set_job_id(job_id);
  return command;
}

}  // namespace

Job::Job(Context context, storage::JobRecords records)
    : members_(*context.members),
      journal_(*context.journal),
      journaled_(std::move(records)),
      workers_(context.members, DevicesOf(*context.members, journaled_.job())),
      crashing_(members_.options().progress_timeout),
      duplicates_seen_(members_.options().ps_addresses.size()) {}

const std::vector<proto::Manifest>& Job::manifests() const {
  return training_ != nullptr ? training_->manifests() : journaled_.manifests();
}

// ------------------------------------------------------------------------------ before its turn

void Job::CommitWeights(Outbox* outbox) { journaled_.SetState(proto::QUEUED, outbox); }

void Job::Activate(EventTime now, Outbox* outbox) {
  delayed_ = false;
  if (record().state() == proto::QUEUED) {
    if (plan().has_value()) {
      // The jobs before it may have written to its files since it was resumed.
      const absl::Status unchanged =
          EpochCallbacks::CheckFiles(*plan(), journaled_.run(), CsvPatience(members_));
      if (!unchanged.ok()) {
        return Fail(absl::StrCat("csv_logger: ", unchanged.message()), now, outbox);
      }
    }
    journaled_.SetState(proto::RUNNING, outbox);
  }
  if (!plan().has_value()) {
    active_ = true;
    return;
  }
  loader_.emplace(&members_, &journaled_);
  const uint32_t ps_count = plan()->partition().ps_count();
  // The number of ps changed between two starts: blocks are loaded from a checkpoint under a new
  // partition.
  if (ps_count != members_.options().ps_addresses.size()) {
    return RollBack(absl::StrCat("the cluster has ", members_.options().ps_addresses.size(),
                                 " ps, it had ", ps_count),
                    now, outbox);
  }
  active_ = true;
  if (Resuming()) loader_->Resume();
}

void Job::AdvanceInspection(Outbox* outbox) {
  if (inspection_.id() == 0) {
    inspection_ = DataInspection((members_.options().term << 32) + ++inspections_);
  }
  std::vector<TaskId> workers = workers_.Live(/*with_evaluators=*/false);
  std::erase_if(workers, [this](TaskId worker) { return workers_.IsStuck(worker); });
  inspection_.Advance(record(), journaled_.job(), workers, outbox);
}

void Job::OnInspected(TaskId worker, const proto::InspectReply& reply, EventTime now,
                      Outbox* outbox) {
  // The reply of a worker that was stuck is as good as that of its successor: the first one counts.
  if (!Inspecting() || reply.inspection() != inspection_.id()) return;
  if (!reply.error().empty() && !reply.transient()) return Fail(reply.error(), now, outbox);
  if (!reply.error().empty()) {
    inspection_.Release(worker);
    journaled_.Note(absl::StrCat(worker.Name(), " could not read the data: ", reply.error()), now);
    return workers_.Failed(worker, reply.error(), /*transient=*/true, now.monotonic);
  }
  if (reply.has_search() || reply.has_survey() || reply.has_measurement()) {
    const absl::Status status = inspection_.OnPart(worker, reply);
    return status.ok() ? void() : Fail(std::string(status.message()), now, outbox);
  }
  inspection_.Release(worker);
  if (!inspection_.asked_for_all()) return;
  absl::StatusOr<proto::JobPlan> plan = job::MakeJobPlan(record(), reply);
  if (!plan.ok()) return Fail(std::string(plan.status().message()), now, outbox);
  inspection_ = DataInspection();
  NoteDamaged("training", plan->data().train_damaged(), now);
  NoteDamaged("validation", plan->data().validation_damaged(), now);
  journaled_.SetPlan(*std::move(plan), outbox);
  loader_.emplace(&members_, &journaled_);
  NextGeneration(0, now, outbox);
}

void Job::NoteDamaged(const char* what, const proto::DamagedRecords& damaged, EventTime now) {
  if (damaged.count() == 0) return;
  journaled_.Note(absl::StrCat(Plural(damaged.count(), "damaged record"), " of the ", what,
                               " data skipped, the first: ", damaged.first_error()),
                  now);
}

// ------------------------------------------------------------------------------------ restoring

void Job::NextGeneration(uint64_t checkpoint, EventTime now, Outbox* outbox) {
  loader_->Begin(checkpoint, now, outbox);
  leases_.clear();
  buffered_reports_.TakeAll();
  workers_.ForgetAll();
  active_ = true;
}

// A member of a replicated job was lost. The others have all blocks, so the job continues where it
// stopped: every update that was applied on all blocks stays, with its records.
void Job::Recover(const std::string& why, EventTime now, Outbox* outbox) {
  // After a clean stop nobody has anything in memory.
  if (!loader_->replicated() || journaled_.run().stopped()) return RollBack(why, now, outbox);
  journaled_.Note(absl::StrCat(why, ": its blocks come from the memory of the others"), now);
  ContinueFromReplicas(why, now, outbox);
}

void Job::ContinueFromReplicas(const std::string& why, EventTime now, Outbox* outbox) {
  const uint64_t base = NewestOfGeneration();
  // What is shown while the members come together.
  if (training_ != nullptr) training_->RecordProgress();
  LeaveTraining(absl::StrCat(why, "; the job continues from the memory of the others"), outbox);
  proto::RunRecord& run = journaled_.run();
  if (run.has_kept_cut()) {
    // A part of the kept cut is gone. Nothing is trained before the evaluation is done (see
    // Training), so the same cut can be made again. A checkpoint is written of newer values.
    if (run.kept_cut().to_evaluate()) run.set_epochs_cut(run.kept_cut().epoch());
    if (run.kept_cut().to_persist()) run.set_renew_checkpoint(true);
  }
  loader_->BeginFromReplicas(base, now, outbox);
  leases_.clear();
  workers_.ForgetAll();
  active_ = true;
}

// Members that were absent are alive again. They get the blocks from the others, between two
// updates. A cut that is kept is written and evaluated first.
void Job::TakeBack(const std::string& returned, EventTime now, Outbox* outbox) {
  if (journaled_.run().has_kept_cut() || !loader_->replicated()) return;
  const std::string why = absl::StrCat(returned, " takes part again");
  journaled_.Note(why, now);
  ContinueFromReplicas(why, now, outbox);
}

// The newest checkpoint that is a part of the current generation's history (see
// CheckpointRetention).
uint64_t Job::NewestOfGeneration() const {
  const proto::RunRecord& run = journaled_.run();
  uint64_t newest = run.base_checkpoint();
  for (const proto::Manifest& manifest : manifests()) {
    const bool good = manifest.damaged().empty() && manifest.generation() == run.generation();
    if (good) newest = std::max<uint64_t>(newest, manifest.checkpoint());
  }
  return newest;
}

void Job::LeaveTraining(const std::string& why, Outbox* outbox) {
  if (training_ == nullptr) return;
  journaled_.set_manifests(training_->all_manifests());
  journaled_.set_evaluations(history_->evaluations());
  training_->Abandon(absl::AbortedError(why), outbox);
  training_.reset();
}

void Job::RollBack(const std::string& why, EventTime now, Outbox* outbox) {
  LeaveTraining(absl::StrCat(why, "; the job rolls back"), outbox);
  // No ps can restore one lost block alone: all ps go back to the same checkpoint, so that all
  // blocks have the same batches.
  const uint64_t checkpoint = journaled_.NewestCheckpoint();
  if (checkpoint == 0 && journaled_.fails_without_checkpoint()) {
    return Fail(absl::StrCat(why, ", and there is no checkpoint to go back to"), now, outbox);
  }
  const std::string target = CheckpointName(checkpoint);
  if (journaled_.run().stopped()) {
    // A start after a clean stop loses nothing and is not counted as a rollback.
    journaled_.Note(absl::StrCat("goes on from ", target), now);
  } else {
    journaled_.run().set_rollbacks(journaled_.run().rollbacks() + 1);
    journaled_.Note(absl::StrCat(why, ": back to ", target), now);
  }
  NextGeneration(checkpoint, now, outbox);
}

// A batch was not applied because its loss or a gradient is not finite, and the job says that it
// fails or rolls back then.
void Job::OnNonFinite(EventTime now, Outbox* outbox) {
  const auto [worker, record] = *training_->non_finite();
  const std::string why = NonfiniteBatchText(*plan(), record, worker.Name());
  const std::string newest =
      CheckpointName(manifests().empty() ? 0 : manifests().back().checkpoint());
  proto::RunRecord& run = journaled_.run();
  const NonfiniteRollback rollback =
      DecideNonfiniteRollback(*plan(), record, training_->any_done(), newest, &run);
  if (!rollback.failure.empty()) return Fail(absl::StrCat(why, rollback.failure), now, outbox);
  if (rollback.base_is_spoiled) {
    const uint64_t base = run.base_checkpoint();
    LeaveTraining(absl::StrCat(why, "; the job rolls back"), outbox);
    journaled_.MarkDamaged(base, "no loss was finite with its values", outbox);
  }
  HalveRate(why, now, outbox);
}

// The count and the new rate are journaled with the number of the next generation, which ignores
// reports of this one. So each event counts once.
void Job::HalveRate(const std::string& why, EventTime now, Outbox* outbox) {
  LeaveTraining(absl::StrCat(why, "; the job rolls back"), outbox);
  proto::RunRecord& run = journaled_.run();
  const uint64_t checkpoint = journaled_.NewestCheckpoint();
  EpochCallbacks::HalveRate(journaled_.job(), journaled_.LowWaterOf(checkpoint), &run);
  run.set_nonfinite_rollbacks(run.nonfinite_rollbacks() + 1);
  run.set_stopped(false);
  journaled_.Note(
      absl::StrCat(why, ": back to ", CheckpointName(checkpoint), " with half the learning rate, ",
                   storage::RateOfBatch(run, journaled_.LowWaterOf(checkpoint))),
      now);
  NextGeneration(checkpoint, now, outbox);
}

void Job::AdvanceRecovery(EventTime now, Outbox* outbox) {
  loader_->Advance(now, outbox);
  if (const std::string overdue = loader_->Overdue(now); Resuming() && !overdue.empty()) {
    return Recover(absl::StrCat(overdue, " did not come back"), now, outbox);
  }
  if (loader_->replicas_lost()) {
    return RollBack("the lost blocks are in no worker's memory", now, outbox);
  }
  if (!loader_->failure().empty()) return Fail(loader_->failure(), now, outbox);
  if (loader_->complete() && MissingPs().empty() && !delayed_) BeginTraining(now, outbox);
}

// The number of epochs that a restored job has completed. An epoch that ends exactly at the
// checkpoint does not count while its evaluation is missing: it is cut again, and then evaluated.
int64_t Job::EpochsCut(const BatchRanges& open) const {
  const int64_t per_epoch = plan()->batches_per_epoch();
  const int64_t total = plan()->total_batches();
  const int64_t low_water = open.empty() ? total : open.front();
  const int64_t epochs =
      low_water == total ? (total + per_epoch - 1) / per_epoch : low_water / per_epoch;
  const bool at_end = low_water == std::min(epochs * per_epoch, total) &&
                      total - open.size() == low_water && epochs > 0;
  const bool evaluation_missing =
      job::ValidatesEpoch(*plan(), epochs - 1) && !history_->HasEvaluation(epochs - 1);
  return at_end && evaluation_missing ? epochs - 1 : epochs;
}

void Job::BeginTraining(EventTime now, Outbox* outbox) {
  absl::StatusOr<AppliedBatches> applied =
      CombineLedgers(loader_->Ledgers(), plan()->total_batches());
  if (!applied.ok()) return Fail(std::string(applied.status().message()), now, outbox);
  auto history = History::Load(journal_, *plan());
  if (!history.ok()) return Fail(std::string(history.status().message()), now, outbox);
  history_ = *std::move(history);
  // A restored job trains the open batches again: their records go. A resumed job keeps all
  // records, since the ps kept their blocks.
  const bool resumed = Resuming();
  // The same holds for a job that continues from the memory of its members: a batch that was
  // reported is applied on all blocks, and so are all replicas.
  const bool continued = !resumed && journaled_.run().from_replicas();
  if (continued) {
    for (const auto& [worker, report] : buffered_reports_.TakeAll()) {
      history_->Add(report.batches(), outbox);
    }
  }
  if (!resumed && !continued) {
    const absl::Status back =
        history_->RollBack(journal_, journaled_.run().base_checkpoint(), applied->open, outbox);
    if (!back.ok()) return Fail(std::string(back.message()), now, outbox);
    journaled_.run().set_epochs_cut(EpochsCut(applied->open));
  }
  if (resumed) {
    journaled_.Note("the coordinator is back; nothing was lost", now);
  } else {
    journaled_.run().set_restored(true);
    // All members have this generation in memory.
    journaled_.run().set_replicas_since(journaled_.run().generation());
  }
  journaled_.SaveRun(outbox);
  journaled_.run().set_starts_exhausted(0);  // Journaled with the next change.
  training_ = std::make_unique<Training>(
      Training::Context{&*plan(), &journaled_.run(), history_.get(),
                        members_.options().progress_timeout, loader_->replicated()},
      std::move(applied->open), journaled_.manifests());
  if (resumed) training_->Resume(now, outbox);
  if (resumed || continued) {
    for (uint32_t ps = 0; ps < plan()->partition().ps_count(); ++ps) {
      if (!loader_->IsAbsent(ps)) loader_->RequestSnapshotLists(ps, AllManifests(), outbox);
    }
  }
  // One that was cut off still has the blocks of an older generation.
  for (uint32_t ps = 0; ps < plan()->partition().ps_count(); ++ps) {
    if (loader_->IsAbsent(ps)) outbox->Send(PsTask(ps), StopCommand(id()));
  }
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.begin_training"); });
  AdoptWorkers(now, outbox);
}

void Job::AdoptWorkers(EventTime now, Outbox* outbox) {
  for (const TaskId worker : workers_.Live(/*with_evaluators=*/true)) {
    auto leases = leases_.find(worker);
    if (leases == leases_.end()) {
      StartJobOn(worker, outbox);
    } else {
      training_->AddWorker(worker);
      training_->Adopt(worker, leases->second, outbox);
    }
  }
  leases_.clear();
  for (const TaskId worker : workers_.Live(/*with_evaluators=*/true)) {
    if (IsCutOff(worker)) workers_.SetStuck(worker, true);
    if (workers_.IsStuck(worker)) training_->SetStuck(worker, true, outbox);
  }
  for (const auto& [worker, report] : buffered_reports_.TakeAll()) {
    training_->OnWork(worker, report, now, outbox);
  }
}

// -------------------------------------------------------------------------------------- members

bool Job::KeepsLeases(const proto::Join& join, const Membership::Joined& joined) const {
  // Only at the first join that this coordinator process sees: at any later one the leases have
  // already been given to others.
  return joined.first && joined.task.role != proto::PS && join.job_id() == id() &&
         join.generation() == journaled_.run().generation() && (Resuming() || trains());
}

void Job::WorkerJoined(TaskId worker, const proto::Join& join, bool keeps_leases, EventTime now,
                       Outbox* outbox) {
  workers_.Forget(worker);
  crashing_.Joined(worker, join.instance_id(), OthersWork(worker), now.monotonic);
  buffered_reports_.Forget(worker);
  journaled_.run().set_workers_joined(journaled_.run().workers_joined() + (keeps_leases ? 0 : 1));
  if (trains() && !keeps_leases && workers_.MayUse(worker)) StartJobOn(worker, outbox);
  if (!keeps_leases) return;
  const std::vector<proto::Split> leases(join.leases().begin(), join.leases().end());
  if (trains()) {
    training_->AddWorker(worker);
    training_->Adopt(worker, leases, outbox);
  } else {
    leases_[worker] = leases;
  }
}

void Job::WorkerGone(TaskId worker, EventTime now, Outbox* outbox) {
  leases_.erase(worker);
  buffered_reports_.Forget(worker);
  workers_.Forget(worker);
  NoteWorkOfLost(worker);
  inspection_.Release(worker);
  if (Inspecting()) return;
  journaled_.run().set_workers_lost(journaled_.run().workers_lost() + 1);
  journaled_.Note(absl::StrCat(worker.Name(), " is gone; its batches go to others"), now);
  if (training_ != nullptr) training_->RemoveWorker(worker);
}

// What a worker cannot do while it waits for a ps says nothing about its work.
void Job::NoteWorkOfLost(TaskId worker) {
  const Member* const member = members_.Find(worker);
  if (member == nullptr || !MissingPs().empty() ||
      member->activity.phase() == proto::Activity::WAITING) {
    return;
  }
  crashing_.Gone(worker, member->instance_id,
                 training_ != nullptr ? training_->WorkOf(worker) : inspection_.WorkOf(worker));
}

bool Job::OthersWork(TaskId worker) const {
  if (training_ != nullptr) return training_->OthersWork(worker);
  const std::vector<TaskId> live = workers_.Live(/*with_evaluators=*/false);
  return std::any_of(live.begin(), live.end(), [&](TaskId other) { return other != worker; });
}

void Job::PsJoined(uint32_t ps, const proto::Join& join, bool continues, Outbox* outbox) {
  if (!loader_.has_value()) return;
  const bool has_job = join.job_id() == id() && join.generation() == journaled_.run().generation();
  if (!continues) duplicates_seen_[ps] = has_job ? join.duplicates_refused() : 0;
  if (loader_->IsAbsent(ps)) return;  // Advance takes it back.
  if (trains() && continues && has_job) {
    loader_->PsAway(ps);  // Nothing more comes over its old stream.
    loader_->RequestSnapshotLists(ps, AllManifests(), outbox);
    return training_->PsReconnected(ps, outbox);
  }
  if (Restoring() || (Resuming() && has_job)) {
    return loader_->PsJoined(ps, has_job, continues, outbox);
  }
  // The ps came back without the job's blocks: it is a loss like an expired lease. Advance handles
  // it, since the scheduler is still in the middle of the join.
  lost_ps_ = ps;
}

void Job::PsAway(uint32_t ps) {
  if (Restoring()) loader_->PsAway(ps);
}

void Job::PsLost(uint32_t ps, EventTime now, Outbox* outbox) {
  if (!loader_.has_value() || loader_->IsAbsent(ps)) return;
  loader_->PsLost(ps);
  if (trains() || Resuming()) {
    Recover(absl::StrCat("ps ", ps, " was lost"), now, outbox);
  }
}

void Job::StartJobOn(TaskId worker, Outbox* outbox) {
  const SharedPlanPtr& plan = journaled_.shared_plan();
  proto::Command command;
  command.mutable_start_job()->set_job_id(id());
  command.mutable_start_job()->set_generation(journaled_.run().generation());
  command.mutable_start_job()->set_plan_fingerprint(plan->fingerprint);
  outbox->Send(worker, std::move(command), plan);
  training_->AddWorker(worker);
  // Training::RemoveWorker has dropped the mark.
  if (workers_.IsStuck(worker)) training_->SetStuck(worker, true, outbox);
}

std::vector<proto::Manifest> Job::AllManifests() const {
  return training_ != nullptr ? training_->all_manifests() : journaled_.manifests();
}

// The ps that are neither live nor absent: "ps 1, ps 3", or empty.
std::string Job::MissingPs() const {
  std::string missing;
  for (uint32_t ps = 0; ps < members_.options().ps_addresses.size(); ++ps) {
    if (members_.IsLive(PsTask(ps)) || (loader_.has_value() && loader_->IsAbsent(ps))) continue;
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", PsTask(ps).Name());
  }
  return missing;
}

// ------------------------------------------------------------------------------------- messages

void Job::OnMessage(TaskId task, const proto::TaskMessage& message, EventTime now, Outbox* outbox) {
  const bool from_ps = task.role == proto::PS;
  if (message.has_heartbeat() && from_ps) {
    OnPsHeartbeat(task.index, message.heartbeat(), now);
  } else if (message.has_heartbeat()) {
    OnWorkerHeartbeat(task, now, outbox);
  } else if (message.has_inspected() && message.inspected().job_id() == id()) {
    OnInspected(task, message.inspected(), now, outbox);
  } else if (message.has_failure() && message.failure().job_id() == id()) {
    OnFailure(task, message.failure(), now);
  } else if (message.has_restored() && from_ps && message.restored().job_id() == id()) {
    if (loader_.has_value()) loader_->OnRestored(task.index, message.restored(), now, outbox);
  } else if (message.has_replica_offer() && from_ps && message.replica_offer().job_id() == id()) {
    if (Restoring()) loader_->OnReplicaOffer(task.index, message.replica_offer());
  } else if (message.has_snapshots() && from_ps && message.snapshots().job_id() == id()) {
    if (loader_.has_value()) {
      loader_->OnSnapshots(task.index, message.snapshots(), AllManifests(), outbox);
    }
  } else if (message.has_ledger() && from_ps && Resuming()) {
    loader_->OnLedger(task.index, message.ledger());
  } else if (message.has_work() && message.work().job_id() == id()) {
    OnWork(task, message.work(), now, outbox);
  }
  if (training_ == nullptr) return;
  if (message.has_paused()) {
    training_->OnPaused(task, message.paused(), outbox);
  } else if (message.has_cut() && from_ps && message.cut().job_id() == id()) {
    training_->OnCut(task.index, message.cut());
  } else if (message.has_persisted() && from_ps && message.persisted().job_id() == id()) {
    training_->OnPersist(task.index, message.persisted());
  } else if (message.has_copied() && from_ps && message.copied().job_id() == id()) {
    training_->OnCopied(task.index, message.copied());
  } else if (message.has_ledger() && from_ps) {
    training_->OnLedger(task.index, message.ledger());
  } else if (message.has_rates_set() && from_ps) {
    training_->OnRates(task.index, message.rates_set());
  } else if (message.has_profiled()) {
    training_->OnProfiled(task, message.profiled());
  }
}

// The worker did not know that its generation had ended. In a job that continues from memory the
// batches are applied.
void Job::KeepLateReport(TaskId worker, const proto::WorkReport& report) {
  const proto::RunRecord& run = journaled_.run();
  const bool counts = Restoring() && run.from_replicas() &&
                      report.generation() >= run.replicas_since() &&
                      report.generation() < run.generation();
  const bool rejects =
      job::NonFinitePolicyOf(journaled_.job()) == job::NonFinitePolicy::kReject ||
      std::none_of(report.batches().begin(), report.batches().end(),
                   [](const proto::BatchRecord& record) { return record.rejected(); });
  if (counts && rejects) buffered_reports_.Keep(worker, report);
}

void Job::OnWork(TaskId worker, const proto::WorkReport& report, EventTime now, Outbox* outbox) {
  if (report.generation() != journaled_.run().generation()) {
    return KeepLateReport(worker, report);
  }
  // Before all ledgers are known there is no training to take the report; it is replayed then.
  if (Resuming()) buffered_reports_.Keep(worker, report);
  if (report.batches_size() > 0) {
    workers_.Works(worker);
    crashing_.Done(Training::StartOf(worker));
  }
  // A ps refused a push or pull of this generation, which is still the current one. The worker has
  // dropped its work, so its leases go to others, and it begins the generation again.
  if (training_ != nullptr && report.generation_over()) {
    training_->RemoveWorker(worker);
    return StartJobOn(worker, outbox);
  }
  if (training_ != nullptr) training_->OnWork(worker, report, now, outbox);
}

void Job::OnPsHeartbeat(uint32_t ps, const proto::Heartbeat& heartbeat, EventTime now) {
  if (!loader_.has_value()) return;
  loader_->UpdateGaps(manifests(), IsStalled(), now);
  loader_->OnDiskProgress(ps, heartbeat.disk_progress(), now);
  if (training_ != nullptr) training_->OnDiskProgress(ps, heartbeat.disk_progress(), now);
  const uint64_t duplicates_refused = heartbeat.duplicates_refused();
  uint64_t& seen = duplicates_seen_[ps];
  // A ps counts from 0 again in a new process or a new generation.
  journaled_.run().set_duplicates_refused(journaled_.run().duplicates_refused() +
                                          duplicates_refused -
                                          (duplicates_refused < seen ? 0 : seen));
  seen = duplicates_refused;
}

void Job::OnFailure(TaskId worker, const proto::JobFailure& failure, EventTime now) {
  if (!Inspecting() && failure.generation() != journaled_.run().generation()) return;
  inspection_.Release(worker);
  if (training_ != nullptr) training_->RemoveWorker(worker);
  journaled_.Note(absl::StrCat("cannot be done by ", worker.Name(), ": ", failure.error()), now);
  workers_.Failed(worker, failure.error(), failure.transient(), now.monotonic);
}

// ------------------------------------------------------------------------------------- progress

void Job::Advance(EventTime now, Outbox* outbox) {
  // A lost ps comes first: a rollback makes everything below obsolete. The training comes last,
  // since it may end the job.
  if (lost_ps_.has_value()) {
    const uint32_t ps = *std::exchange(lost_ps_, std::nullopt);
    PsLost(ps, now, outbox);
  }
  if (trains() || Resuming()) {
    if (const std::string cut_off = loader_->CutOff(now); !cut_off.empty()) {
      Recover(cut_off, now, outbox);
    }
  }
  if (trains()) {
    if (const std::string returned = loader_->Returned(); !returned.empty()) {
      TakeBack(returned, now, outbox);
    }
  }
  RetryWorkers(now, outbox);
  if (const auto why = workers_.WhyNoneEligible(now.monotonic)) Fail(*why, now, outbox);
  if (active() && !crashing_.failure().empty()) Fail(crashing_.failure(), now, outbox);
  if (Inspecting()) AdvanceInspection(outbox);
  if (Loading()) AdvanceRecovery(now, outbox);
  WatchProgress(now, outbox);
  if (!trains()) return;
  // Before anything is leased or cut: the values may be spoiled.
  if (training_->failure().empty() && training_->non_finite().has_value()) {
    return OnNonFinite(now, outbox);
  }
  training_->Advance(now, outbox);
  // A copy, because Fail destroys the training.
  if (const std::string why = training_->failure(); !why.empty()) return Fail(why, now, outbox);
  if (training_->finished()) End(proto::FINISHED, "", now, outbox);
}

// Workers whose transient error may have passed.
void Job::RetryWorkers(EventTime now, Outbox* outbox) {
  for (const TaskId worker : workers_.TakeRecovered(now.monotonic)) {
    if (trains() && members_.IsLive(worker)) StartJobOn(worker, outbox);
  }
}

// A worker's process lives as long as its heartbeats come, but its trainer may hang in a read.
void Job::OnWorkerHeartbeat(TaskId worker, EventTime now, Outbox* outbox) {
  const absl::Duration hangs = members_.WithoutProgress(worker);
  const bool hangs_too_long = hangs > Patience();
  const bool stuck = hangs_too_long || IsCutOff(worker);
  if (!workers_.SetStuck(worker, stuck)) return;
  if (stuck) inspection_.Release(worker);
  if (training_ != nullptr) training_->SetStuck(worker, stuck, outbox);
  const std::string doing = members_.ActivityText(worker, Patience());
  journaled_.Note(!stuck ? absl::StrCat(worker.Name(), " goes on")
                  : hangs_too_long
                      ? absl::StrCat(worker.Name(), " is ", doing, "; others get its work")
                      : absl::StrCat(worker.Name(), " is cut off; others get its work"),
                  now);
}

// Whether other members do not reach the parameters in the worker's process.
bool Job::IsCutOff(TaskId worker) const {
  if (!loader_.has_value()) return false;
  for (uint32_t ps = 0; ps < members_.options().ps_addresses.size(); ++ps) {
    if (loader_->IsCutOff(ps) && members_.InOneProcess(worker, ps)) return true;
  }
  return false;
}

absl::Duration Job::Patience() const {
  return training_ != nullptr ? training_->Patience() : members_.options().progress_timeout;
}

bool Job::IsStalled() const { return progress_.stalled() && progress_.stalled_for() > Patience(); }

void Job::WatchProgress(EventTime now, Outbox* outbox) {
  if (!active()) return;
  std::string progress = absl::StrCat(journaled_.run().generation());
  if (training_ != nullptr) absl::StrAppend(&progress, " ", training_->Progress());
  const ProgressWatch::Event event = progress_.Update(std::move(progress), now.monotonic);
  if (event == ProgressWatch::Event::kNone) return;
  const int64_t seconds = absl::ToInt64Seconds(progress_.stalled_for());
  journaled_.Note(event == ProgressWatch::Event::kStalled
                      ? absl::StrCat("no progress for ", seconds, " s: waiting ", NextNeeded())
                      : absl::StrCat("goes on after ", seconds, " s without progress"),
                  now);
  journaled_.SaveRun(outbox);
}

std::string Job::NextNeeded() const {
  if (std::string waiting = WaitingFor(); !waiting.empty()) return waiting;
  if (training_ != nullptr) return training_->NextNeeded();
  return Resuming() ? "for every ps to say what it has" : "for its data";
}

void Job::AskForCheckpoint(const std::string& reason, CheckpointCallback callback, Outbox* outbox) {
  if (trains()) {
    return training_->AskForCheckpoint(reason, std::move(callback));
  }
  outbox->replies.push_back(
      [callback = std::move(callback), status = NotTraining()]() mutable { callback(status); });
}

void Job::Profile(const ProfileSession::Options& options, ProfileCallback callback,
                  Outbox* outbox) {
  if (trains()) return training_->Profile(options, std::move(callback), outbox);
  outbox->replies.push_back(
      [callback = std::move(callback), status = NotTraining()]() mutable { callback(status); });
}

absl::Status Job::NotTraining() {
  return absl::FailedPreconditionError(absl::StrCat("job ", id(), " (", record().job().name(),
                                                    ") does not train now; it is ",
                                                    storage::StateName(State())));
}

std::string Job::GoesOnFrom() const {
  if (manifests().empty()) {
    return absl::StrCat("; job ", id(), " has no checkpoint and starts from the beginning");
  }
  return absl::StrCat("; job ", id(), " goes on from checkpoint ", manifests().back().checkpoint());
}

void Job::ContinueAfterStop() {
  delayed_ = false;
  if (training_ != nullptr) training_->ContinueAfterStop();
}

void Job::Fail(const std::string& why, EventTime now, Outbox* outbox) {
  End(proto::FAILED, why, now, outbox);
}

void Job::Cancel(EventTime now, Outbox* outbox) { End(proto::CANCELLED, "", now, outbox); }

void Job::End(proto::JobState state, const std::string& error, EventTime now, Outbox* outbox) {
  if (history_ != nullptr) journaled_.set_evaluations(history_->evaluations());
  if (training_ != nullptr) {
    journaled_.set_manifests(training_->all_manifests());
    training_->RecordProgress();
    if (const int64_t rejected = history_->batches_rejected(); rejected > 0) {
      journaled_.Note(
          absl::StrCat(rejected, " of ", journaled_.run().batches_done(), " batches were rejected"),
          now);
    }
    if (state == proto::FINISHED) {
      const auto& evaluations = history_->evaluations();
      WarnOfNonfiniteEnd(*plan(), journaled_.run(),
                         evaluations.empty() ? nullptr : &evaluations.back());
    }
    training_->Abandon(absl::FailedPreconditionError(absl::StrCat("job ", id(), " is over")),
                       outbox);
    training_.reset();
  }
  journaled_.End(state, error, now, outbox);
  if (!std::exchange(active_, false)) return;
  for (const auto& [task, member] : members_.members()) {
    if (member.live()) outbox->Send(task, StopCommand(id()));
  }
}

absl::Status Job::Reopen(EventTime now, Outbox* outbox) {
  if (plan().has_value()) {
    CAIRN_RETURN_IF_ERROR(
        EpochCallbacks::CheckFiles(*plan(), journaled_.run(), CsvPatience(members_)));
  }
  workers_.ForgetAll();
  crashing_ = CrashingWork(members_.options().progress_timeout);
  inspection_ = DataInspection();
  lost_ps_.reset();
  loader_.reset();
  history_.reset();
  if (plan().has_value()) {
    const uint64_t checkpoint = journaled_.NewestCheckpoint();
    journaled_.run().set_nonfinite_in_vain(0);
    EpochCallbacks::Prepare(*plan(), journaled_.LowWaterOf(checkpoint), &journaled_.run(),
                            CsvPatience(members_));
    journaled_.run().set_starts_exhausted(0);
    journaled_.BeginGeneration(checkpoint, outbox);
    journaled_.Note(absl::StrCat("resumed from ", CheckpointName(checkpoint)), now);
    journaled_.SaveRun(outbox);
  }
  journaled_.Reopen(outbox);
  return absl::OkStatus();
}

std::string Job::WaitingFor() const {
  const std::string missing = MissingPs();
  const bool elastic = members_.options().workers_hold_parameters;
  // Workers without their parameters can inspect the data.
  if (!missing.empty() && !(elastic && Inspecting())) {
    if (!elastic) return absl::StrCat("for ", missing);
    return absl::StrCat("for ", missing, ", and without it after ",
                        absl::FormatDuration(members_.options().rejoin_timeout),
                        " if others can go on");
  }
  const std::vector<TaskId> readers = inspection_.readers();
  if (Inspecting() && readers.empty()) {
    for (const TaskId worker : workers_.Live(/*with_evaluators=*/false)) {
      return absl::StrCat("for a worker to read the data: ", worker.Name(), " is ",
                          members_.ActivityText(worker, Patience()));
    }
    return "for workers";
  }
  if (Inspecting()) {
    const auto count = static_cast<int64_t>(readers.size());
    return absl::StrCat("for ", count == 1 ? readers[0].Name() : Plural(count, "worker"),
                        " to read the data");
  }
  if (!Restoring()) return "";
  return delayed_ && loader_->complete() ? "for the cluster to stop" : loader_->WaitingFor();
}

proto::JobState Job::State() const {
  const bool restores = Restoring() && journaled_.run().generation() > 1;
  return restores ? proto::RESTORING : journaled_.State();
}

proto::JobStatus Job::Status(absl::Duration now) {
  proto::JobStatus status = journaled_.Status();
  if (!active()) return status;
  status.set_workers_live(static_cast<int64_t>(members_.Live(proto::WORKER).size()));
  status.set_ps_live(static_cast<int64_t>(members_.Live(proto::PS).size()));
  status.set_waiting_for(WaitingFor());
  status.set_state(State());
  if (training_ != nullptr) training_->FillStatus(now, &status);
  if (progress_.stalled()) {
    status.set_waiting_for(absl::StrCat(NextNeeded(), " (no progress for ",
                                        absl::ToInt64Seconds(progress_.stalled_for()), " s)"));
  }
  if (training_ == nullptr) return status;
  if (!manifests().empty()) status.set_last_checkpoint(manifests().back().checkpoint());
  status.set_batches_rejected(history_->batches_rejected());
  status.clear_evaluations();
  for (const auto& evaluation : history_->evaluations()) {
    *status.add_evaluations() = storage::NumberedEvaluation(evaluation, plan()->job());
  }
  const History::Means means = history_->NewestMeans();
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

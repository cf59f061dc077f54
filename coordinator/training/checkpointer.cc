#include "coordinator/training/checkpointer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/logging.h"
#include "coordinator/callbacks/nonfinite_loss.h"
#include "job/job_plan.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kRetryCut = absl::Seconds(1);
// For checkpoints that would be due again at once after a failure.
constexpr absl::Duration kRetryWriting = absl::Seconds(5);
constexpr char kStop[] = "stop";

CheckpointRetention::Options CheckpointOptions(const proto::JobPlan& plan,
                                               const proto::RunRecord& run) {
  CheckpointRetention::Options options;
  options.job_id = plan.job_id();
  options.every_steps = plan.job().checkpoint().every_steps();
  if (plan.job().checkpoint().has_keep()) options.keep = plan.job().checkpoint().keep();
  options.ps_count = plan.partition().ps_count();
  options.generation = run.generation();
  options.base_checkpoint = run.base_checkpoint();
  return options;
}

}  // namespace

Checkpointer::Checkpointer(const Context& context, std::vector<proto::Manifest> manifests)
    : plan_(*context.plan),
      run_(*context.run),
      history_(*context.history),
      queue_(*context.queue),
      retention_(CheckpointOptions(plan_, run_), std::move(manifests), queue_.DoneCount()),
      copies_(plan_.partition().ps_count(), job::CopiesWanted(plan_.job())) {
  queue_.SetLimit(LeaseEnd());
}

int64_t Checkpointer::End() const {
  return run_.has_stop_at_batch() ? run_.stop_at_batch() : plan_.total_batches();
}

int64_t Checkpointer::EpochCount() const {
  return (End() + plan_.batches_per_epoch() - 1) / plan_.batches_per_epoch();
}

int64_t Checkpointer::Epoch() const { return std::min(run_.epochs_cut(), EpochCount() - 1); }

int64_t Checkpointer::EpochEnd() const {
  return std::min((run_.epochs_cut() + 1) * plan_.batches_per_epoch(), End());
}

int64_t Checkpointer::LeaseEnd() const {
  return epochs_allowed_ > run_.epochs_cut() ? EpochEnd()
                                             : run_.epochs_cut() * plan_.batches_per_epoch();
}

void Checkpointer::AllowEpochs(int64_t epochs) {
  epochs_allowed_ = epochs;
  if (cut_ == nullptr) queue_.SetLimit(LeaseEnd());
}

bool Checkpointer::AtEpochEnd() const {
  return !queue_.AnyOpenBelow(EpochEnd()) && !queue_.AnyLeased();
}

std::string Checkpointer::NextNeeded() const {
  if (cut_ == nullptr) return stopped_ ? "for the cluster to stop" : "";
  if (!cut_->holding_workers().empty()) {
    return absl::StrCat("for ", cut_->holding_workers().begin()->Name(),
                        " to finish its batch before the checkpoint");
  }
  for (uint32_t ps = 0; ps < plan_.partition().ps_count(); ++ps) {
    if (cut_->Awaits(ps)) return absl::StrCat("for ", PsTask(ps).Name(), " to cut the checkpoint");
  }
  return "";
}

bool Checkpointer::finished() const { return LastCheckpointExists() && !copying(); }

bool Checkpointer::LastCheckpointExists() const {
  if (run_.epochs_cut() < EpochCount() || run_.has_held_cut()) return false;
  const auto& manifests = retention_.manifests();
  return !manifests.empty() && manifests.back().applied_batches() == End();
}

void Checkpointer::TakeUp(Outbox* outbox) {
  const uint64_t held = run_.has_held_cut() ? run_.held_cut().cut() : 0;
  // The earlier process may have told the ps to cut but never kept the result. No one waits for
  // that cut's ledgers now, so its memory is freed.
  if (run_.last_cut() != held) DropCut(run_.last_cut(), outbox);
  // Only a checkpoint of this generation is copied: the ps know its blocks. A ps confirms at once
  // what it has copied before.
  if (!manifests().empty() && manifests().back().generation() == run_.generation()) {
    Copy(copies_.Begin(manifests().back()), outbox);
  }
  if (held == 0) return;
  if (run_.held_cut().to_persist()) Write(run_.held_cut(), outbox);
  if (run_.held_cut().to_evaluate()) Evaluate(run_.held_cut());
}

void Checkpointer::PsReconnected(uint32_t ps, Outbox* outbox) {
  // The ps may never have received the command to cut. A cut that is being made is dropped and
  // begun again; a finished cut stays. Otherwise the newest cut is already dropped, and the command
  // is repeated since it may be lost too.
  if (cut_ != nullptr && cut_->begun()) {
    DropCut(cut_->cut(), outbox);
    cut_.reset();
    queue_.SetLimit(LeaseEnd());
  } else if (!run_.has_held_cut() || run_.held_cut().cut() != run_.last_cut()) {
    DropCut(run_.last_cut(), outbox);
  }
  Copy(copies_.OrdersOf(ps), outbox);
  if (retention_.Awaits(ps)) outbox->Send(PsTask(ps), PersistCommand(run_.held_cut().cut()));
}

void Checkpointer::WorkerGone(TaskId worker) {
  if (evaluation_ != nullptr) evaluation_->Drop(worker);
  if (cut_ != nullptr) cut_->WorkerGone(worker);
}

void Checkpointer::OnHeld(TaskId worker, const proto::Held& held) {
  if (cut_ != nullptr) cut_->Held(worker, held.hold_id());
}

void Checkpointer::OnCut(uint32_t ps, const proto::CutReply& reply) {
  if (cut_ != nullptr && reply.generation() == run_.generation()) cut_->Reply(ps, reply);
}

void Checkpointer::OnPersist(uint32_t ps, const proto::PersistReply& reply) {
  retention_.Reply(ps, reply);
}

void Checkpointer::OnCopied(uint32_t ps, const proto::CopyReply& reply) {
  copies_.Reply(ps, reply);
}

void Checkpointer::OnEvaluated(TaskId worker, const proto::EvaluatedBatch& batch,
                               absl::Duration now) {
  if (evaluation_ != nullptr) evaluation_->Done(worker, batch, now);
}

void Checkpointer::Advance(bool may_cut, EventTime now, Outbox* outbox) {
  // Finished background work comes first: it may release the held cut, and there is at most one. If
  // no worker has leases, a new cut begins and is made in the same call.
  FinishWriting(now, outbox);
  FinishCopies(outbox);
  FinishEvaluation(now, outbox);
  ReleaseCut(outbox);
  if (cut_ == nullptr && may_cut) {
    if (std::optional<CutPurpose> due = DueCut(now)) BeginCut(*std::move(due), outbox);
  }
  if (cut_ != nullptr && !cut_->begun() && AtRest()) MakeCut(outbox);
  if (cut_ != nullptr && cut_->complete()) FinishCut(now, outbox);
}

void Checkpointer::CancelStop() { requests_.Withdraw(kStop); }

bool Checkpointer::leasing_paused() const {
  return stopped_ || (cut_ != nullptr && (WorkersHold() || cut_->begun()));
}

// ------------------------------------------------------------------------------------ making a cut

std::optional<CutPurpose> Checkpointer::DueCut(EventTime now) {
  const int64_t done = queue_.DoneCount();
  // A checkpoint that is due while the previous one is still in progress is skipped and counted,
  // not queued: training does not wait for slow disks. Epoch ends are never skipped.
  if ((run_.has_held_cut() || copying()) && !AtEpochEnd() && retention_.Due(done)) {
    run_.set_checkpoints_skipped(run_.checkpoints_skipped() + 1);
    retention_.Passed(done);
  }
  // One held cut at a time: this bounds the copy-on-write memory on the ps, and a rollback never
  // skips an evaluation that is still running.
  if (run_.has_held_cut()) return std::nullopt;
  if (now.monotonic < no_cut_before_ || LastCheckpointExists()) return std::nullopt;
  // A cut would fail the comparison again before the reopened batches are done.
  torn_ = queue_.Unfinished(torn_);
  if (!torn_.empty()) return std::nullopt;
  if (AtEpochEnd()) {
    const bool evaluate = plan_.validation_examples() > 0 && !history_.HasEvaluation(Epoch());
    return CutPurpose{"epoch", true, evaluate, Epoch()};
  }
  if (run_.renew_checkpoint() && now.monotonic >= renew_not_before_) {
    return CutPurpose{"restored", true, false, -1};
  }
  if (const std::optional<std::string> reason = requests_.NextReason()) {
    return CutPurpose{*reason, true, false, -1};
  }
  if (retention_.Due(done)) return CutPurpose{"steps", true, false, -1};
  return std::nullopt;
}

// In synchronous and stale jobs a worker cannot return half of what it has: its batches wait for
// each other. All leased batches are finished first, up to the end of an update.
int64_t Checkpointer::DrainEnd() const {
  const int64_t leased_end = std::max(queue_.LeasedEnd(), queue_.LowWater());
  const int64_t group = plan_.synchronous() ? plan_.batches_per_update() : 1;
  const int64_t epoch_begin = run_.epochs_cut() * plan_.batches_per_epoch();
  const int64_t updates = (std::max(leased_end, epoch_begin) - epoch_begin + group - 1) / group;
  return std::min(epoch_begin + updates * group, EpochEnd());
}

// Phase 1, rest. Asynchronous workers are told to hold: they finish their current batch and return
// the rest. Other jobs drain: nothing is leased beyond `end`.
void Checkpointer::BeginCut(CutPurpose purpose, Outbox* outbox) {
  const int64_t end = WorkersHold() ? EpochEnd() : DrainEnd();
  cut_ = std::make_unique<Cut>(std::move(purpose), ++last_hold_, end);
  queue_.SetLimit(end);
  if (!WorkersHold()) return;
  for (const TaskId worker : queue_.Holders()) {
    cut_->AwaitHeld(worker);
    proto::Command command;
    command.mutable_hold()->set_hold_id(cut_->hold());
    outbox->Send(worker, std::move(command));
  }
}

bool Checkpointer::AtRest() const {
  if (WorkersHold()) return !cut_->holding();
  return !queue_.AnyOpenBelow(cut_->end()) && !queue_.AnyLeased();
}

// Phase 2, cut. The cut's number is journaled before any ps hears it: after a restart no number is
// used twice, and TakeUp knows which cut to drop.
void Checkpointer::MakeCut(Outbox* outbox) {
  run_.set_last_cut(run_.last_cut() + 1);
  SaveRun(outbox);
  cut_->Begin(run_.last_cut(), plan_.partition().ps_count());
  proto::Command command;
  command.mutable_make_cut()->set_job_id(plan_.job_id());
  command.mutable_make_cut()->set_generation(run_.generation());
  command.mutable_make_cut()->set_cut(run_.last_cut());
  SendToAllPs(command, outbox);
}

// Phase 3, compare. The cut is consistent if every batch is applied on all blocks or on none. At an
// epoch's end all batches below it must also be applied: the epoch is evaluated and never trained
// again. Elsewhere unapplied batches are just recorded as open in the checkpoint.
void Checkpointer::FinishCut(EventTime now, Outbox* outbox) {
  absl::StatusOr<AppliedBatches> applied = cut_->Result(plan_.total_batches());
  const bool at_epoch_end = cut_->purpose().epoch >= 0;
  if (!applied.ok()) {
    CutFailed(applied.status(), now, outbox);
  } else if (!applied->half.empty() ||
             (at_epoch_end && applied->open.CountBelow(cut_->end()) > 0)) {
    ReopenMissingBatches(*applied, outbox);
  } else {
    // The ledgers overrule the workers' reports.
    queue_.Reopen(applied->open);
    KeepCut(*applied, outbox);
  }
  cut_.reset();
  queue_.SetLimit(LeaseEnd());
}

// Phase 4, keep. The held cut is journaled before it is written and evaluated, so that a restarted
// coordinator continues both instead of losing an epoch's evaluation.
void Checkpointer::KeepCut(const AppliedBatches& applied, Outbox* outbox) {
  const CutPurpose& purpose = cut_->purpose();
  proto::HeldCut* held = run_.mutable_held_cut();
  held->set_cut(cut_->cut());
  *held->mutable_ledger() = MakeLedgerState(applied.open, plan_.total_batches());
  held->set_applied_batches(plan_.total_batches() - applied.open.size());
  held->set_to_persist(purpose.persist);
  held->set_reason(purpose.reason);
  held->set_to_evaluate(purpose.evaluate);
  held->set_epoch(purpose.epoch);
  if (purpose.epoch >= 0) run_.set_epochs_cut(purpose.epoch + 1);
  if (purpose.reason == kStop && requests_.Awaited(kStop)) stopped_ = true;
  retention_.Passed(queue_.DoneCount());
  SaveRun(outbox);
  if (purpose.persist) Write(*held, outbox);
  if (purpose.evaluate) Evaluate(*held);
}

// Some blocks have batches that others lack: a worker died between two pushes, or it went on after
// its lease had expired. Or the ledgers have less than the workers reported. The cut is useless;
// the missing batches are leased again.
void Checkpointer::ReopenMissingBatches(const AppliedBatches& applied, Outbox* outbox) {
  DropCut(cut_->cut(), outbox);
  queue_.Reopen(applied.open);
  torn_ = applied.half;
}

// A ps could not cut, for lack of memory for example. The others did, so all are told to drop it.
// Training goes on, and the next attempt waits for kRetryCut.
void Checkpointer::CutFailed(const absl::Status& why, EventTime now, Outbox* outbox) {
  DropCut(cut_->cut(), outbox);
  retention_.Passed(queue_.DoneCount());
  no_cut_before_ = now.monotonic + kRetryCut;
  CheckpointFailed(why, outbox);
}

// ----------------------------------------------------------------------- writing and evaluating it

// Phase 5, write and evaluate. Both run in the background on the kept cut, in any order.
void Checkpointer::Write(const proto::HeldCut& cut, Outbox* outbox) {
  retention_.Begin(cut, run_.generation());
  SendToAllPs(PersistCommand(cut.cut()), outbox);
}

void Checkpointer::Evaluate(const proto::HeldCut& cut) {
  const int64_t batch_size = std::max<int64_t>(1, plan_.batch_size());
  const int64_t batches = (plan_.validation_examples() + batch_size - 1) / batch_size;
  evaluation_ =
      std::make_unique<EvaluationRound>(cut.cut(), cut.epoch(), batches, MetricSums(plan_.job()));
}

void Checkpointer::FinishWriting(EventTime now, Outbox* outbox) {
  std::optional<absl::StatusOr<proto::Manifest>> result = retention_.TakeResult(now.unix_seconds);
  if (!result.has_value()) return;
  const uint64_t cut = run_.held_cut().cut();
  run_.mutable_held_cut()->set_to_persist(false);
  if (result->ok()) {
    CheckpointExists(**std::move(result), outbox);
    return;
  }
  CheckpointFailed(result->status(), outbox);
  // After the last epoch the job waits for its final checkpoint, which is due again at once.
  if (run_.epochs_cut() == EpochCount()) no_cut_before_ = now.monotonic + kRetryWriting;
  // The renewed checkpoint of a restored job is due again at once too, but training goes on
  // meanwhile.
  if (run_.renew_checkpoint()) renew_not_before_ = now.monotonic + kRetryWriting;
  // Other ps may have written their parts. Without a manifest they only take up space.
  DeleteCheckpoint(cut, outbox);
}

// The manifest makes the checkpoint exist. It is synced before a client or a ps is told.
void Checkpointer::CheckpointExists(proto::Manifest manifest, Outbox* outbox) {
  *manifest.mutable_partition() = plan_.partition();
  const std::string reason = manifest.reason();
  retention_.Update(manifest);
  outbox->PutSynced(storage::ManifestKey(plan_.job_id(), manifest.checkpoint()), manifest);
  // The end of an epoch may fall on the stop and bring a checkpoint of its own. Nothing was leased
  // in between, so the job is stopped there as well.
  run_.set_stopped(stopped_ && (reason == kStop || run_.stopped()));
  run_.clear_checkpoint_error();
  run_.clear_warning();
  run_.set_renew_checkpoint(false);
  SaveRun(outbox);
  requests_.Made(manifest);
  Copy(copies_.Begin(manifest), outbox);
  CAIRN_LOG_INFO("checkpoint", "job", plan_.job_id(), "checkpoint", manifest.checkpoint(), "reason",
                 reason, "batches", manifest.applied_batches());
}

void Checkpointer::Copy(const std::vector<CheckpointCopies::Order>& orders, Outbox* outbox) {
  for (const CheckpointCopies::Order& order : orders) {
    proto::Command command;
    command.mutable_copy_snapshot()->set_job_id(plan_.job_id());
    command.mutable_copy_snapshot()->set_generation(run_.generation());
    command.mutable_copy_snapshot()->set_checkpoint(order.checkpoint);
    *command.mutable_copy_snapshot()->mutable_part() = order.part;
    outbox->Send(PsTask(order.ps), std::move(command));
  }
}

// Phase 6, copy. A checkpoint without copies is still valid: failed copies are counted and
// reported. Older checkpoints are deleted only now, when the new one has all the copies it can get.
void Checkpointer::FinishCopies(Outbox* outbox) {
  while (std::optional<CheckpointCopies::Result> result = copies_.TakeResult()) {
    const proto::Manifest& manifest = result->manifest;
    if (retention_.Update(manifest)) {
      outbox->PutSynced(storage::ManifestKey(plan_.job_id(), manifest.checkpoint()), manifest);
    }
    if (result->failed > 0) {
      CAIRN_LOG_ERROR("a checkpoint lacks copies", "job", plan_.job_id(), "checkpoint",
                      manifest.checkpoint(), "missing", result->failed, "error", result->error);
    }
    run_.set_copies_failed(run_.copies_failed() + result->failed);
    run_.set_copy_error(result->error);
    SaveRun(outbox);
    requests_.Complete(manifest, outbox);
    DeleteExpired(outbox);
  }
}

void Checkpointer::DeleteExpired(Outbox* outbox) {
  std::set<uint64_t> pinned;
  for (const proto::BestCheckpoint& best : run_.best()) pinned.insert(best.checkpoint());
  for (const proto::Manifest& old : retention_.TakeExpired(pinned)) {
    outbox->Erase(storage::ManifestKey(plan_.job_id(), old.checkpoint()));
    DeleteCheckpoint(old.checkpoint(), outbox);
  }
}

void Checkpointer::CheckpointFailed(const absl::Status& why, Outbox* outbox) {
  run_.set_checkpoints_failed(run_.checkpoints_failed() + 1);
  run_.set_checkpoint_error(std::string(why.message()));
  SaveRun(outbox);
  CAIRN_LOG_ERROR("a checkpoint failed; training goes on without it", "job", plan_.job_id(),
                  "error", why);
  requests_.Failed(why, outbox);
}

void Checkpointer::FinishEvaluation(EventTime now, Outbox* outbox) {
  if (evaluation_ == nullptr || !evaluation_->done()) return;
  const proto::EvaluationRecord record = evaluation_->Result();
  history_.Add(record, outbox);
  KeepNonfiniteLoss(plan_, record, now, &run_);
  run_.mutable_held_cut()->set_to_evaluate(false);
  SaveRun(outbox);
  evaluation_.reset();
  CAIRN_LOG_INFO("evaluated", "job", plan_.job_id(), "epoch", record.epoch(), "loss",
                 record.loss());
}

// Phase 7, drop. The ps free the cut's memory once it is both written and evaluated. If the command
// is lost, PsReconnected repeats it: last_cut stays, the held cut is gone.
void Checkpointer::ReleaseCut(Outbox* outbox) {
  if (!run_.has_held_cut()) return;
  if (run_.held_cut().to_persist() || run_.held_cut().to_evaluate()) return;
  DropCut(run_.held_cut().cut(), outbox);
  run_.clear_held_cut();
  SaveRun(outbox);
}

void Checkpointer::DropCut(uint64_t cut, Outbox* outbox) {
  if (cut == 0) return;
  proto::Command command;
  command.mutable_drop_cut()->set_job_id(plan_.job_id());
  command.mutable_drop_cut()->set_cut(cut);
  SendToAllPs(command, outbox);
}

void Checkpointer::DeleteCheckpoint(uint64_t checkpoint, Outbox* outbox) {
  proto::Command command;
  command.mutable_delete_checkpoint()->set_job_id(plan_.job_id());
  command.mutable_delete_checkpoint()->set_checkpoint(checkpoint);
  SendToAllPs(command, outbox);
}

proto::Command Checkpointer::PersistCommand(uint64_t cut) const {
  proto::Command command;
  command.mutable_persist()->set_job_id(plan_.job_id());
  command.mutable_persist()->set_generation(run_.generation());
  command.mutable_persist()->set_cut(cut);
  return command;
}

void Checkpointer::RecordProgress() {
  const History::Means means = history_.EpochMeans();
  run_.set_batches_done(queue_.DoneCount());
  run_.set_loss(means.loss);
  run_.mutable_metrics()->Assign(means.metrics.begin(), means.metrics.end());
}

void Checkpointer::SaveRun(Outbox* outbox) {
  RecordProgress();
  outbox->PutSynced(storage::RunKey(plan_.job_id()), run_);
}

void Checkpointer::SendToAllPs(const proto::Command& command, Outbox* outbox) {
  for (uint32_t ps = 0; ps < plan_.partition().ps_count(); ++ps) {
    outbox->Send(PsTask(ps), command);
  }
}

}  // namespace cairn::coordinator

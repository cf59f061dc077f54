#include "coordinator/training/checkpointer.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "coordinator/callbacks/nonfinite_loss.h"
#include "job/job_plan.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kRetryCut = absl::Seconds(1);
// For checkpoints that would be due again at once after a failure.
constexpr absl::Duration kRetryWriting = absl::Seconds(5);
// The last checkpoint is tried so often, 5 s after the first failure, then 10 s, up to 1 min: more
// than 6 min in all.
constexpr int kLastCheckpointTries = 10;
constexpr absl::Duration kRetryLastMax = absl::Minutes(1);
constexpr char kStop[] = "stop";

}  // namespace

Checkpointer::Checkpointer(const Context& context, std::vector<proto::Manifest> manifests)
    : plan_(*context.plan),
      run_(*context.run),
      history_(*context.history),
      queue_(*context.queue),
      progress_timeout_(context.progress_timeout),
      disks_(plan_.partition().ps_count()),
      retention_(&plan_, run_, std::move(manifests), queue_.DoneCount()),
      copies_(context.plan, run_.generation()) {
  queue_.SetLimit(LeaseEnd());
}

int64_t Checkpointer::LeaseEnd() const {
  return epochs_allowed_ > run_.epochs_cut() ? EpochEnd() : EpochBegin();
}

void Checkpointer::AllowEpochs(int64_t epochs) {
  epochs_allowed_ = epochs;
  if (cut_ == nullptr) queue_.SetLimit(LeaseEnd());
}

bool Checkpointer::LastCheckpointExists() const {
  if (run_.epochs_cut() < EpochCount() || run_.has_kept_cut()) return false;
  return !manifests().empty() && manifests().back().applied_batches() == End();
}

std::string Checkpointer::NextNeeded() const {
  if (cut_ != nullptr) return cut_->NextNeeded();
  return stopped_ ? "for the cluster to stop" : "";
}

void Checkpointer::Resume(Outbox* outbox) {
  // The earlier process may have told the ps to cut but never kept the result. No one waits for
  // that cut's ledgers now, so its memory is freed.
  if (run_.last_cut() != run_.kept_cut().cut()) DropCut(plan_, run_.last_cut(), outbox);
  // Only a checkpoint of this generation is copied: the ps know its blocks. A ps confirms at once
  // what it has copied before.
  if (!manifests().empty() && manifests().back().generation() == run_.generation()) {
    copies_.Begin(manifests().back(), outbox);
  }
  BeginWriteAndEvaluation(outbox);
}

void Checkpointer::PsReconnected(uint32_t ps, Outbox* outbox) {
  // The ps may never have received the command to cut. A cut that is being made is dropped and
  // begun again; a finished cut stays. Otherwise the newest cut is already dropped, and the command
  // is repeated since it may be lost too.
  if (cut_ != nullptr && cut_->made()) {
    DropCut(plan_, cut_->cut(), outbox);
    EndCut();
  } else if (run_.kept_cut().cut() != run_.last_cut()) {
    DropCut(plan_, run_.last_cut(), outbox);
  }
  copies_.PsReconnected(ps, outbox);
  if (write_ != nullptr) write_->PsReconnected(ps, outbox);
}

void Checkpointer::WorkerGone(TaskId worker) {
  if (evaluation_ != nullptr) evaluation_->Drop(worker);
  if (cut_ != nullptr) cut_->WorkerGone(worker);
}

void Checkpointer::CancelStop() { requests_.Withdraw(kStop); }

void Checkpointer::Advance(bool may_cut, EventTime now, Outbox* outbox) {
  // Finished background work comes first: it may release the kept cut, and there is at most one. If
  // no worker has leases, a new cut begins and is made in the same call.
  GiveUpOverdue(now);
  if (write_ != nullptr && write_->complete()) FinishWrite(now, outbox);
  FinishCopies(outbox);
  if (evaluation_ != nullptr && evaluation_->done()) FinishEvaluation(now, outbox);
  ReleaseCut(outbox);
  if (cut_ == nullptr && may_cut) {
    if (std::optional<CutPurpose> due = DueCut(now)) BeginCut(*std::move(due), outbox);
  }
  if (cut_ != nullptr && !cut_->made() && cut_->AtRest()) MakeCut(outbox);
  if (cut_ != nullptr && cut_->complete()) FinishCut(now, outbox);
}

void Checkpointer::OnDiskProgress(uint32_t ps, uint64_t progress, EventTime now) {
  if (ps >= disks_.size() || disks_[ps].value == progress) return;
  disks_[ps] = {progress, now.monotonic};
}

// Every wait for a worker or a ps ends here at the latest: a live process may have a part that
// hangs, a disk above all. The operation fails or goes on without the part; training does not wait.
void Checkpointer::GiveUpOverdue(EventTime now) {
  const absl::Duration before = now.monotonic - progress_timeout_;
  const auto hangs = [&](uint32_t ps) { return disks_[ps].at < before; };
  const std::string why =
      absl::StrCat("no answer and no progress for ", absl::FormatDuration(progress_timeout_),
                   "; its disk may hang");
  if (write_ != nullptr && write_->begun_at(now.monotonic) < before) write_->GiveUp(hangs, why);
  copies_.GiveUp(now.monotonic, progress_timeout_, hangs, why);
  if (cut_ == nullptr || cut_->phase_begun_at(now.monotonic) >= before) return;
  cut_->GiveUpPs(why);
  // A worker that does not pause keeps its batch; its leases are given to others too.
  for (const TaskId worker : cut_->TakePausing()) {
    CAIRN_LOG_WARNING("a worker does not pause; its batches go to others", "task", worker.Name());
    queue_.Drop(worker);
  }
}

std::optional<CutPurpose> Checkpointer::DueCut(EventTime now) {
  const int64_t done = queue_.DoneCount();
  // A checkpoint that is due while the previous one is still in progress is skipped and counted,
  // not queued: training does not wait for slow disks. Epoch ends are never skipped.
  if ((run_.has_kept_cut() || copying()) && !AtEpochEnd() && retention_.Due(done, now.monotonic)) {
    run_.set_checkpoints_skipped(run_.checkpoints_skipped() + 1);
    retention_.Passed(done, now.monotonic);
  }
  // One kept cut at a time: this bounds the copy-on-write memory on the ps, and a rollback never
  // skips an evaluation that is still running.
  if (run_.has_kept_cut()) return std::nullopt;
  if (now.monotonic < no_cut_before_ || LastCheckpointExists()) return std::nullopt;
  // A cut would fail the comparison again before the reopened batches are done.
  torn_ = queue_.Unfinished(torn_);
  if (!torn_.empty()) return std::nullopt;
  if (AtEpochEnd()) {
    const bool evaluate = job::ValidatesEpoch(plan_, Epoch()) && !history_.HasEvaluation(Epoch());
    const bool is_last = Epoch() + 1 == EpochCount();
    const bool persist =
        is_last || retention_.DueAtEndOf(Epoch()) || retention_.Due(done, now.monotonic);
    return CutPurpose{"epoch", evaluate, Epoch(), persist};
  }
  if (run_.renew_checkpoint() && now.monotonic >= renew_not_before_) return CutPurpose{"restored"};
  if (const std::optional<std::string> reason = requests_.NextReason()) return CutPurpose{*reason};
  if (retention_.Due(done, now.monotonic)) return CutPurpose{"steps"};
  return std::nullopt;
}

// Phase 1, rest.
void Checkpointer::BeginCut(CutPurpose purpose, Outbox* outbox) {
  cut_ = std::make_unique<Cut>(&plan_, run_.generation(), &queue_, std::move(purpose), EpochBegin(),
                               EpochEnd(), ++last_pause_);
  cut_->Begin(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.begin_cut"); });
}

// Phase 2, cut. The cut's number is journaled before any ps hears it: after a restart no number is
// used twice, and Resume knows which cut to drop.
void Checkpointer::MakeCut(Outbox* outbox) {
  run_.set_last_cut(run_.last_cut() + 1);
  SaveRun(outbox);
  cut_->Make(run_.last_cut(), outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.make_cut"); });
}

// Phase 3, compare the ledgers. All ps have cut, so on failure all drop it.
void Checkpointer::FinishCut(EventTime now, Outbox* outbox) {
  const absl::StatusOr<AppliedBatches> applied = cut_->Result();
  if (!applied.ok()) {
    // A ps could not cut, for lack of memory for example.
    DropCut(plan_, cut_->cut(), outbox);
    retention_.Passed(queue_.DoneCount(), now.monotonic);
    no_cut_before_ = now.monotonic + kRetryCut;
    if (cut_->purpose().epoch + 1 == EpochCount()) LastCheckpointFailed(applied.status(), now);
    CheckpointFailed(applied.status(), outbox);
  } else if (!cut_->Consistent(*applied)) {
    // A worker died between two pushes, or went on after its lease had expired, or the ledgers have
    // less than the workers reported. The missing batches are leased again.
    DropCut(plan_, cut_->cut(), outbox);
    queue_.Reopen(applied->open);
    torn_ = applied->half;
    outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.drop_torn_cut"); });
  } else {
    // The ledgers overrule the workers' reports.
    queue_.Reopen(applied->open);
    KeepCut(*applied, now, outbox);
  }
  EndCut();
}

void Checkpointer::EndCut() {
  cut_.reset();
  queue_.SetLimit(LeaseEnd());
}

// Phase 4, keep. The kept cut is journaled before it is written and evaluated, so that a restarted
// coordinator continues both instead of losing an epoch's evaluation.
void Checkpointer::KeepCut(const AppliedBatches& applied, EventTime now, Outbox* outbox) {
  const CutPurpose& purpose = cut_->purpose();
  *run_.mutable_kept_cut() = cut_->Record(applied);
  if (purpose.epoch >= 0) run_.set_epochs_cut(purpose.epoch + 1);
  if (purpose.reason == kStop && requests_.Awaited(kStop)) stopped_ = true;
  requests_.Kept(purpose.reason);
  if (purpose.persist) {
    retention_.Passed(queue_.DoneCount(), now.monotonic);
    // A rollback to this checkpoint continues from the sums of the batches that are in it.
    history_.KeepSums(run_.kept_cut().cut(), outbox);
  }
  SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.keep_cut"); });
  BeginWriteAndEvaluation(outbox);
}

// Phase 5, write and evaluate. Both run in the background on the kept cut, in any order.
void Checkpointer::BeginWriteAndEvaluation(Outbox* outbox) {
  const proto::KeptCut& cut = run_.kept_cut();
  if (cut.to_persist()) {
    write_ = std::make_unique<CheckpointWrite>(&plan_, run_.generation(), cut);
    write_->Begin(outbox);
  }
  if (cut.to_evaluate()) evaluation_ = std::make_unique<EvaluationRound>(plan_, cut);
}

void Checkpointer::FinishWrite(EventTime now, Outbox* outbox) {
  absl::StatusOr<proto::Manifest> manifest = write_->Result(now.unix_seconds);
  write_.reset();
  run_.mutable_kept_cut()->set_to_persist(false);
  if (manifest.ok()) return CheckpointExists(*std::move(manifest), outbox);
  // After the last epoch the job waits for its final checkpoint, which is due again at once.
  if (run_.epochs_cut() == EpochCount()) LastCheckpointFailed(manifest.status(), now);
  CheckpointFailed(manifest.status(), outbox);
  // The renewed checkpoint of a restored job is due again at once too, but training goes on
  // meanwhile.
  if (run_.renew_checkpoint()) renew_not_before_ = now.monotonic + kRetryWriting;
  // Other ps may have written their parts. Without a manifest they only take up space.
  DeleteCheckpoint(plan_, run_.kept_cut().cut(), outbox);
}

// The caller journals the count, so a restarted coordinator does not count from 0 again.
void Checkpointer::LastCheckpointFailed(const absl::Status& why, EventTime now) {
  const int64_t failures = run_.last_checkpoint_failures();
  const int64_t doublings = std::min<int64_t>(failures, kLastCheckpointTries);
  no_cut_before_ =
      now.monotonic + std::min(kRetryWriting * (int64_t{1} << doublings), kRetryLastMax);
  run_.set_last_checkpoint_failures(failures + 1);
  if (failures + 1 < kLastCheckpointTries) return;
  failure_ = absl::StrCat("the last checkpoint could not be written in ", kLastCheckpointTries,
                          " tries: ", why.message(), "; when there is room, `cairn resume ",
                          plan_.job_id(), "` goes on from the newest checkpoint");
}

std::string Checkpointer::FailedTries() const {
  if (run_.last_checkpoint_failures() == 0) return "";
  return absl::StrCat("try ", run_.last_checkpoint_failures(), " of ", kLastCheckpointTries,
                      " to write the last checkpoint failed: ", run_.checkpoint_error());
}

// The manifest makes the checkpoint exist. It is synced before a client or a ps is told.
void Checkpointer::CheckpointExists(const proto::Manifest& manifest, Outbox* outbox) {
  retention_.Add(manifest, outbox);
  run_.clear_last_checkpoint_failures();
  // The end of an epoch may fall on the stop and bring a checkpoint of its own. Nothing was leased
  // in between, so the job is stopped there as well.
  run_.set_stopped(stopped_ && (manifest.reason() == kStop || run_.stopped()));
  run_.clear_checkpoint_error();
  run_.clear_warning();
  run_.set_renew_checkpoint(false);
  SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.add_manifest"); });
  // Nothing was trained since the cut of a stop, so it serves later requests to stop too.
  if (stopped_) requests_.Kept(kStop);
  requests_.Made(manifest);
  copies_.Begin(manifest, outbox);
  CAIRN_LOG_INFO("checkpoint", "job", plan_.job_id(), "checkpoint", manifest.checkpoint(), "reason",
                 manifest.reason(), "batches", manifest.applied_batches());
}

void Checkpointer::CheckpointFailed(const absl::Status& why, Outbox* outbox) {
  run_.set_checkpoints_failed(run_.checkpoints_failed() + 1);
  run_.set_checkpoint_error(std::string(why.message()));
  SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.checkpoint_failed"); });
  CAIRN_LOG_ERROR("a checkpoint failed; training goes on without it", "job", plan_.job_id(),
                  "error", why);
  requests_.Failed(why, outbox);
}

void Checkpointer::FinishEvaluation(EventTime now, Outbox* outbox) {
  const proto::EvaluationRecord record = evaluation_->Result();
  evaluation_.reset();
  history_.Add(record, outbox);
  KeepNonfiniteLoss(plan_, record, now, &run_);
  run_.mutable_kept_cut()->set_to_evaluate(false);
  SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.finish_evaluation"); });
  CAIRN_LOG_INFO("evaluated", "job", plan_.job_id(), "epoch", record.epoch(), "loss",
                 record.loss());
}

// Phase 6, drop. The ps free the cut's memory once it is both written and evaluated. If the command
// is lost, PsReconnected repeats it: last_cut stays, the kept cut is gone.
void Checkpointer::ReleaseCut(Outbox* outbox) {
  if (!run_.has_kept_cut()) return;
  if (run_.kept_cut().to_persist() || run_.kept_cut().to_evaluate()) return;
  DropCut(plan_, run_.kept_cut().cut(), outbox);
  run_.clear_kept_cut();
  SaveRun(outbox);
  outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.release_cut"); });
}

// Phase 7, copy and expire. A checkpoint without copies is still valid: failed copies are counted
// and reported. Older checkpoints are deleted only now, when the new one has all the copies it can
// get.
void Checkpointer::FinishCopies(Outbox* outbox) {
  while (std::optional<CheckpointCopies::Result> result = copies_.TakeResult()) {
    const proto::Manifest& manifest = result->manifest;
    retention_.Update(manifest, outbox);
    if (result->failed > 0) {
      CAIRN_LOG_ERROR("a checkpoint lacks copies", "job", plan_.job_id(), "checkpoint",
                      manifest.checkpoint(), "missing", result->failed, "error", result->error);
    }
    run_.set_copies_failed(run_.copies_failed() + result->failed);
    run_.set_copy_error(result->error);
    SaveRun(outbox);
    outbox->AfterWrite([] { return CAIRN_FAILPOINT("coordinator.finish_copies"); });
    requests_.Complete(manifest, outbox);
    DeleteExpired(outbox);
  }
}

void Checkpointer::DeleteExpired(Outbox* outbox) {
  std::set<uint64_t> pinned;
  for (const proto::BestCheckpoint& best : run_.best()) pinned.insert(best.checkpoint());
  retention_.DeleteExpired(pinned, outbox);
}

void Checkpointer::RecordProgress() {
  const History::Means means = history_.NewestMeans();
  run_.set_batches_done(queue_.DoneCount());
  run_.set_batches_rejected(history_.batches_rejected());
  run_.set_loss(means.loss);
  run_.mutable_metrics()->Assign(means.metrics.begin(), means.metrics.end());
}

void Checkpointer::SaveRun(Outbox* outbox) {
  RecordProgress();
  outbox->PutSynced(storage::RunKey(plan_.job_id()), run_);
}

}  // namespace cairn::coordinator

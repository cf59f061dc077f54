#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "coordinator/event_time.h"
#include "coordinator/outbox.h"
#include "coordinator/training/checkpoint_copies.h"
#include "coordinator/training/checkpoint_requests.h"
#include "coordinator/training/checkpoint_retention.h"
#include "coordinator/training/checkpoint_write.h"
#include "coordinator/training/cut.h"
#include "coordinator/training/evaluation_round.h"
#include "coordinator/training/history.h"
#include "coordinator/training/split_queue.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Drives the cuts and checkpoints of one generation, one at a time: decides what is due, journals,
// and sequences the parts. A cut is due at each epoch's end, every `every_steps` batches, or on
// request. Its phases:
//
//   Cut                                the workers come to rest, every ps cuts, the ledgers are
//                                      compared; a usable cut is kept
//   CheckpointWrite, EvaluationRound   the kept cut is written as a checkpoint and evaluated, in
//                                      the background; then it is dropped
//   CheckpointCopies                   the snapshots are copied
//   CheckpointRetention                older checkpoints are deleted
//
// The end of the leased range moves with the cuts.
//
// Call the On... methods for replies, then Advance after each event and on ticks. All state that
// must survive a restart is in the RunRecord; it is journaled before any command that depends on it
// is sent. Pure state machine, not thread-safe.
class Checkpointer {
 public:
  // All must outlive the cycle. It modifies `run` and `queue`.
  struct Context {
    const proto::JobPlan* plan = nullptr;
    proto::RunRecord* run = nullptr;
    History* history = nullptr;
    SplitQueue* queue = nullptr;
    // A worker or a ps that does not answer, and writes nothing, for so long is not awaited.
    absl::Duration progress_timeout = absl::InfiniteDuration();
  };

  // `manifests`: oldest first.
  Checkpointer(const Context& context, std::vector<proto::Manifest> manifests);

  // Continues what an earlier coordinator process began in this generation.
  void Resume(Outbox* outbox);
  // The same ps process has a new stream: commands and replies on the old one may be lost.
  void PsReconnected(uint32_t ps, Outbox* outbox);
  void WorkerGone(TaskId worker);

  void OnPaused(TaskId worker, const proto::WorkPaused& paused) {
    if (cut_ != nullptr) cut_->Paused(worker, paused.pause_id());
  }
  void OnCut(uint32_t ps, const proto::CutReply& reply) {
    if (cut_ != nullptr) cut_->Reply(ps, reply);
  }
  void OnPersist(uint32_t ps, const proto::PersistReply& reply) {
    if (write_ != nullptr) write_->Reply(ps, reply);
  }
  void OnCopied(uint32_t ps, const proto::CopyReply& reply) { copies_.Reply(ps, reply); }
  // As EvaluationRound::Done. True if nothing is evaluated (any more).
  bool OnEvaluated(TaskId worker, const proto::EvaluatedBatch& batch, absl::Duration now) {
    return evaluation_ == nullptr || evaluation_->Done(worker, batch, now);
  }

  // The ps has written, copied or read another piece of a snapshot, if `progress` differs from its
  // last one.
  void OnDiskProgress(uint32_t ps, uint64_t progress, EventTime now);

  // Requests a checkpoint. The callback runs when its copies are made or have failed. After one for
  // "stop" workers rest until ContinueAfterStop.
  void Ask(const std::string& reason, CheckpointCallback callback) {
    requests_.Add(reason, std::move(callback));
  }
  void ContinueAfterStop() { stopped_ = false; }
  // Drops open "stop" requests: a checkpoint made for one later does not stop the job.
  void CancelStop();
  // Batches of the first `epochs` epochs may be leased. Default: all.
  void AllowEpochs(int64_t epochs);
  // Deletes the checkpoints that retention no longer keeps.
  void DeleteExpired(Outbox* outbox);
  // Writes the number of batches done and the epoch's means to the RunRecord.
  void RecordProgress();
  // Answers all requests: with their checkpoint if it exists, else with this error.
  void Abandon(const absl::Status& why, Outbox* outbox) { requests_.Abandon(why, outbox); }

  // Takes every step that is possible now. Begins no cut unless `may_cut`.
  void Advance(bool may_cut, EventTime now, Outbox* outbox);

  // Nothing may be leased: a cut is being made, or the job is stopped.
  bool leasing_paused() const { return stopped_ || (cut_ != nullptr && cut_->leasing_paused()); }
  // The running evaluation, or nullptr.
  EvaluationRound* evaluation() const { return evaluation_.get(); }
  // Training or a checkpoint that was asked for waits for the running evaluation to end.
  bool EvaluationIsUrgent() const {
    const bool training_waits = !queue_.AnyOpenBelow(LeaseEnd()) && !queue_.AnyLeased();
    return evaluation_ != nullptr && (training_waits || requests_.NextReason().has_value());
  }
  bool AtEpochEnd() const { return !queue_.AnyOpenBelow(EpochEnd()) && !queue_.AnyLeased(); }
  // The epoch that is being trained.
  int64_t Epoch() const { return std::min(run_.epochs_cut(), EpochCount() - 1); }
  // All epochs are trained, evaluated and checkpointed, including copies.
  bool finished() const { return LastCheckpointExists() && !copying(); }
  // What the current cut or stop waits for: "for worker 1 to finish its batch". Empty if there is
  // neither.
  std::string NextNeeded() const;
  // "try 3 of 10 to write the last checkpoint failed: ..."; empty if none has failed.
  std::string FailedTries() const;
  // Why the job must fail: its last checkpoint cannot be written. Empty if it may go on.
  const std::string& failure() const { return failure_; }
  // Whether snapshots are being copied.
  bool copying() const { return !copies_.idle(); }
  const std::vector<proto::Manifest>& manifests() const { return retention_.manifests(); }
  // Including those that were passed over (see CheckpointRetention).
  std::vector<proto::Manifest> all_manifests() const { return retention_.all_manifests(); }

 private:
  // One past the last batch to train. Callbacks may lower it.
  int64_t End() const {
    return run_.has_stop_at_batch() ? run_.stop_at_batch() : plan_.total_batches();
  }
  bool LastCheckpointExists() const;
  int64_t EpochCount() const {
    return (End() + plan_.batches_per_epoch() - 1) / plan_.batches_per_epoch();
  }
  int64_t EpochBegin() const { return run_.epochs_cut() * plan_.batches_per_epoch(); }
  int64_t EpochEnd() const { return std::min(EpochBegin() + plan_.batches_per_epoch(), End()); }
  // The end of the leased range while no cut is being made.
  int64_t LeaseEnd() const;

  void GiveUpOverdue(EventTime now);
  std::optional<CutPurpose> DueCut(EventTime now);
  void BeginCut(CutPurpose purpose, Outbox* outbox);
  void MakeCut(Outbox* outbox);
  void FinishCut(EventTime now, Outbox* outbox);
  void EndCut();
  void KeepCut(const AppliedBatches& applied, EventTime now, Outbox* outbox);
  void BeginWriteAndEvaluation(Outbox* outbox);
  void FinishWrite(EventTime now, Outbox* outbox);
  void CheckpointExists(const proto::Manifest& manifest, Outbox* outbox);
  void CheckpointFailed(const absl::Status& why, Outbox* outbox);
  void LastCheckpointFailed(const absl::Status& why, EventTime now);
  void FinishEvaluation(EventTime now, Outbox* outbox);
  void ReleaseCut(Outbox* outbox);
  void FinishCopies(Outbox* outbox);
  void SaveRun(Outbox* outbox);

  const proto::JobPlan& plan_;
  proto::RunRecord& run_;
  History& history_;
  SplitQueue& queue_;

  // By ps: its last progress, and when it was made.
  struct DiskProgress {
    uint64_t value = 0;
    absl::Duration at = -absl::InfiniteDuration();
  };
  const absl::Duration progress_timeout_;
  std::vector<DiskProgress> disks_;

  CheckpointRetention retention_;
  CheckpointCopies copies_;
  // At most one of each; null if there is none.
  std::unique_ptr<Cut> cut_;
  std::unique_ptr<CheckpointWrite> write_;
  std::unique_ptr<EvaluationRound> evaluation_;
  CheckpointRequests requests_;
  int64_t epochs_allowed_ = std::numeric_limits<int64_t>::max();
  // Batches that the last cut found applied on some blocks only. No new cut begins before they are
  // done.
  BatchRanges torn_;
  absl::Duration no_cut_before_ = -absl::InfiniteDuration();
  absl::Duration renew_not_before_ = -absl::InfiniteDuration();
  std::string failure_;
  uint64_t last_pause_ = 0;
  bool stopped_ = false;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_

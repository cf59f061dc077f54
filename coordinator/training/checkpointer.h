#ifndef CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_
#define CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/event_time.h"
#include "coordinator/outbox.h"
#include "coordinator/training/checkpoint_copies.h"
#include "coordinator/training/checkpoint_requests.h"
#include "coordinator/training/checkpoint_retention.h"
#include "coordinator/training/cut.h"
#include "coordinator/training/evaluation_round.h"
#include "coordinator/training/history.h"
#include "coordinator/training/split_queue.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// Drives the cuts and checkpoints of one generation, one at a time. A cut is due at each epoch's
// end, every `every_steps` batches, or on request. Its phases: workers come to rest, every ps cuts,
// the ledgers are compared, the cut is kept, it is written as a checkpoint and evaluated in the
// background, the snapshots are copied, and the cut is dropped. The end of the leased range moves
// with the cuts.
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
  };

  // `manifests`: oldest first.
  Checkpointer(const Context& context, std::vector<proto::Manifest> manifests);

  // Continues what an earlier coordinator process began in this generation.
  void TakeUp(Outbox* outbox);
  // The same ps process has a new stream: commands and replies on the old one may be lost.
  void PsReconnected(uint32_t ps, Outbox* outbox);
  void WorkerGone(TaskId worker);

  void OnHeld(TaskId worker, const proto::Held& held);
  void OnCut(uint32_t ps, const proto::CutReply& reply);
  void OnPersist(uint32_t ps, const proto::PersistReply& reply);
  void OnCopied(uint32_t ps, const proto::CopyReply& reply);
  void OnEvaluated(TaskId worker, const proto::EvaluatedBatch& batch, absl::Duration now);

  // Requests a checkpoint. The callback runs when its copies are made or have failed. After one for
  // "stop" workers rest until Resume.
  void Ask(const std::string& reason, CheckpointCallback callback) {
    requests_.Add(reason, std::move(callback));
  }
  void Resume() { stopped_ = false; }
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
  bool leasing_paused() const;
  // The running evaluation, or nullptr.
  EvaluationRound* evaluation() const { return evaluation_.get(); }
  bool AtEpochEnd() const;
  // The epoch that is being trained.
  int64_t Epoch() const;
  // All epochs are trained, evaluated and checkpointed, including copies.
  bool finished() const;
  // What the current cut or stop waits for: "for worker 1 to finish its batch". Empty if there is
  // neither.
  std::string NextNeeded() const;
  // Whether snapshots are being copied.
  bool copying() const { return !copies_.idle(); }
  const std::vector<proto::Manifest>& manifests() const { return retention_.manifests(); }
  // Including those that were passed over (see CheckpointRetention).
  std::vector<proto::Manifest> all_manifests() const { return retention_.all_manifests(); }

 private:
  // One past the last batch to train. Callbacks may lower it.
  int64_t End() const;
  bool LastCheckpointExists() const;
  int64_t EpochCount() const;
  int64_t EpochEnd() const;
  // The end of the leased range while no cut is being made.
  int64_t LeaseEnd() const;
  // Whether workers hold and return unstarted batches. Otherwise all leased batches are finished
  // first.
  bool WorkersHold() const { return !plan_.synchronous() && plan_.window() < 0; }
  int64_t DrainEnd() const;

  void FinishWriting(EventTime now, Outbox* outbox);
  void CheckpointExists(proto::Manifest manifest, Outbox* outbox);
  void Copy(const std::vector<CheckpointCopies::Order>& orders, Outbox* outbox);
  void FinishCopies(Outbox* outbox);
  void FinishEvaluation(EventTime now, Outbox* outbox);
  void ReleaseCut(Outbox* outbox);
  std::optional<CutPurpose> DueCut(EventTime now);
  void BeginCut(CutPurpose purpose, Outbox* outbox);
  bool AtRest() const;
  void MakeCut(Outbox* outbox);
  void FinishCut(EventTime now, Outbox* outbox);
  void KeepCut(const AppliedBatches& applied, Outbox* outbox);
  void ReopenMissingBatches(const AppliedBatches& applied, Outbox* outbox);
  void CutFailed(const absl::Status& why, EventTime now, Outbox* outbox);
  void CheckpointFailed(const absl::Status& why, Outbox* outbox);
  void Write(const proto::HeldCut& cut, Outbox* outbox);
  void Evaluate(const proto::HeldCut& cut);
  void DropCut(uint64_t cut, Outbox* outbox);
  void DeleteCheckpoint(uint64_t checkpoint, Outbox* outbox);
  void SaveRun(Outbox* outbox);
  void SendToAllPs(const proto::Command& command, Outbox* outbox);
  proto::Command PersistCommand(uint64_t cut) const;

  const proto::JobPlan& plan_;
  proto::RunRecord& run_;
  History& history_;
  SplitQueue& queue_;

  CheckpointRetention retention_;
  CheckpointCopies copies_;
  std::unique_ptr<Cut> cut_;  // Being made.
  std::unique_ptr<EvaluationRound> evaluation_;
  CheckpointRequests requests_;
  int64_t epochs_allowed_ = std::numeric_limits<int64_t>::max();
  // Batches that the last cut found applied on some blocks only. No new cut begins before they are
  // done.
  BatchRanges torn_;
  absl::Duration no_cut_before_ = -absl::InfiniteDuration();
  absl::Duration renew_not_before_ = -absl::InfiniteDuration();
  uint64_t last_hold_ = 0;
  bool stopped_ = false;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CHECKPOINTER_H_

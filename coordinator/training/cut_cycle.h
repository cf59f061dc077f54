#ifndef CAIRN_COORDINATOR_TRAINING_CUT_CYCLE_H_
#define CAIRN_COORDINATOR_TRAINING_CUT_CYCLE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/moment.h"
#include "coordinator/outbox.h"
#include "coordinator/training/aligned_cut.h"
#include "coordinator/training/checkpoint_requests.h"
#include "coordinator/training/checkpointer.h"
#include "coordinator/training/evaluation.h"
#include "coordinator/training/history.h"
#include "coordinator/training/snapshot_copies.h"
#include "coordinator/training/split_queue.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// The cuts of a generation, one after the other: due at each epoch's end, every so many batches, or
// when somebody asks; the workers come to rest, all ps cut, the ledgers are compared; then the cut
// is written as a checkpoint and evaluated in the background, and dropped when both are done. The
// limit up to which batches are leased moves with it. What must outlive the process is in the
// RunRecord, journalled here before anybody is told. A pure machine, not thread-safe.
class CutCycle {
 public:
  // All outlive the cycle; `run` and `queue` are changed by it.
  struct Context {
    const proto::JobPlan* plan = nullptr;
    proto::RunRecord* run = nullptr;
    History* history = nullptr;
    SplitQueue* queue = nullptr;
  };

  // `manifests`: oldest first.
  CutCycle(const Context& context, std::vector<proto::Manifest> manifests);

  // Takes up what an earlier process of the coordinator had begun in this generation.
  void TakeUp(Outbox* outbox);
  // The same ps on a new stream: what was under way on the old one may be lost.
  void PsReturned(uint32_t ps, Outbox* outbox);
  void WorkerGone(TaskId worker);

  void OnHeld(TaskId worker, const proto::Held& held);
  void OnCut(uint32_t ps, const proto::CutReply& reply);
  void OnPersist(uint32_t ps, const proto::PersistReply& reply);
  void OnCopied(uint32_t ps, const proto::CopyReply& reply);
  void OnEvaluated(TaskId worker, const proto::EvaluatedBatch& batch, absl::Duration now);

  // Asks for a checkpoint, and is answered when it has its copies, or has failed to get them; after
  // one for "stop" workers rest until Resume.
  void Ask(const std::string& reason, CheckpointCallback callback) {
    requests_.Add(reason, std::move(callback));
  }
  void Resume() { stopped_ = false; }
  // Whoever asked for a stop waits no longer: a checkpoint for it that is not there yet stops
  // nothing.
  void WithdrawStop();
  // Batches of so many epochs may be leased; at first of all.
  void AllowEpochs(int64_t epochs);
  // Deletes the checkpoints that are not kept any more.
  void DeleteSurplus(Outbox* outbox);
  // Batches done and the epoch's means, into the RunRecord.
  void RecordProgress();
  // Everybody who waits for a checkpoint that does not exist gets this error.
  void Abandon(const absl::Status& why, Outbox* outbox) { requests_.Abandon(why, outbox); }

  // Does what can be done now. No cut is begun unless `may_cut`.
  void Advance(bool may_cut, Moment now, Outbox* outbox);

  // Nothing may be leased: a cut is being made, or a stop was asked for.
  bool resting() const;
  // The evaluation that is under way, or nullptr.
  Evaluation* evaluation() const { return evaluation_.get(); }
  bool AtEpochEnd() const;
  // The epoch that is trained now.
  int64_t Epoch() const;
  // All epochs are trained, evaluated and checkpointed, with copies.
  bool finished() const;
  // What the cut that is being made, or the stop, waits for: "for worker 1 to finish its batch".
  // Empty: there is none.
  std::string NextNeeded() const;
  // A checkpoint is being copied.
  bool copying() const { return !copies_.idle(); }
  const std::vector<proto::Manifest>& manifests() const { return checkpointer_.manifests(); }
  // With those that were passed over (see Checkpointer).
  std::vector<proto::Manifest> all_manifests() const { return checkpointer_.all_manifests(); }

 private:
  // One past the last batch that is trained: callbacks may have stopped the training.
  int64_t End() const;
  bool LastCheckpointExists() const;
  int64_t EpochCount() const;
  int64_t EpochEnd() const;
  // Up to which batches are leased while no cut is being made.
  int64_t LeaseEnd() const;
  // Workers hold and give back; otherwise all that is leased is finished first.
  bool WorkersHold() const { return !plan_.synchronous() && plan_.window() < 0; }
  int64_t DrainEnd() const;

  void FinishWriting(Moment now, Outbox* outbox);
  void CheckpointExists(proto::Manifest manifest, Outbox* outbox);
  void Copy(const std::vector<SnapshotCopies::Order>& orders, Outbox* outbox);
  void FinishCopies(Outbox* outbox);
  void FinishEvaluation(Outbox* outbox);
  void ReleaseCut(Outbox* outbox);
  std::optional<CutPurpose> DueCut(Moment now);
  void BeginCut(CutPurpose purpose, Outbox* outbox);
  bool AtRest() const;
  void MakeCut(Outbox* outbox);
  void FinishCut(Moment now, Outbox* outbox);
  void KeepCut(const Settled& settled, Outbox* outbox);
  void Mend(const Settled& settled, Outbox* outbox);
  void CutFailed(const absl::Status& why, Moment now, Outbox* outbox);
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

  Checkpointer checkpointer_;
  SnapshotCopies copies_;
  std::unique_ptr<AlignedCut> cut_;  // Being made.
  std::unique_ptr<Evaluation> evaluation_;
  CheckpointRequests requests_;
  int64_t epochs_allowed_ = std::numeric_limits<int64_t>::max();
  // Batches that some blocks had and others had not at the last cut: no new cut before they are in.
  BatchRanges torn_;
  absl::Duration no_cut_before_ = -absl::InfiniteDuration();
  absl::Duration renew_not_before_ = -absl::InfiniteDuration();
  uint64_t last_hold_ = 0;
  bool stopped_ = false;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_CUT_CYCLE_H_

#ifndef CAIRN_COORDINATOR_TRAINING_TRAINING_H_
#define CAIRN_COORDINATOR_TRAINING_TRAINING_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "coordinator/moment.h"
#include "coordinator/outbox.h"
#include "coordinator/training/aligned_cut.h"
#include "coordinator/training/checkpointer.h"
#include "coordinator/training/evaluation.h"
#include "coordinator/training/history.h"
#include "coordinator/training/rate.h"
#include "coordinator/training/split_queue.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

using CheckpointCallback = absl::AnyInvocable<void(absl::StatusOr<proto::Manifest>)>;

// One generation of a job while it trains: gives batches to workers, cuts at each epoch's end and
// when a checkpoint is due, has cuts written and evaluated in the background, and knows when all is
// done. Everything that must outlive the process is in the RunRecord, which is journalled here
// before anybody is told. A pure machine (but for reading history), not thread-safe.
class Training {
 public:
  // All outlive the training; `run` is written by it.
  struct Context {
    const proto::JobPlan* plan = nullptr;
    proto::RunRecord* run = nullptr;
    History* history = nullptr;
  };

  // `open`: what the ledgers of all ps lack. `manifests`: oldest first.
  Training(Context context, BatchRanges open, std::vector<proto::Manifest> manifests);

  // `resumed`: an earlier process of the coordinator trained this generation. What it had begun is
  // taken up, and for a while nothing is leased: workers may come back that hold leases.
  void Begin(bool resumed, Moment now, Outbox* outbox);

  // The worker has the job now.
  void AddWorker(TaskId worker) { workers_.insert(worker); }
  // It had it before, and these batches.
  void Adopt(TaskId worker, absl::Span<const proto::Split> holding);
  void RemoveWorker(TaskId worker);
  // The same process on a new stream: what was under way on the old one may be lost.
  void PsReturned(uint32_t ps, Outbox* outbox);

  void OnWork(TaskId worker, const proto::WorkReport& report, Moment now, Outbox* outbox);
  void OnHeld(TaskId worker, const proto::Held& held);
  void OnCut(uint32_t ps, const proto::CutReply& reply);
  void OnPersist(uint32_t ps, const proto::PersistReply& reply);
  void OnLedger(uint32_t ps, const proto::LedgerReply& reply);

  // Asks for a checkpoint; after one for "stop" nothing is leased until Resume.
  void AskForCheckpoint(const std::string& reason, CheckpointCallback callback);
  void Resume() { stopped_ = false; }
  // Everybody who waits for a checkpoint gets this error: the training is given up.
  void Abandon(const absl::Status& why, Outbox* outbox);

  // Does what can be done now; to be called after every event and on ticks.
  void Advance(Moment now, Outbox* outbox);
  // All epochs are trained, evaluated and checkpointed.
  bool finished() const;

  void FillStatus(absl::Duration now, proto::JobStatus* status);
  const std::vector<proto::Manifest>& manifests() const { return checkpointer_.manifests(); }

 private:
  struct Asked {
    std::string reason;
    CheckpointCallback callback;
  };

  int64_t EpochCount() const;
  int64_t EpochEnd() const;
  bool AtEpochEnd() const;
  bool IsAligned() const { return !plan_.synchronous() && plan_.window() < 0; }
  int64_t DrainEnd() const;

  void FinishWriting(Moment now, Outbox* outbox);
  void CheckpointExists(proto::Manifest manifest, Moment now, Outbox* outbox);
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
  void AnswerAsked(const std::string& reason, const absl::StatusOr<proto::Manifest>& result,
                   Outbox* outbox);
  void Write(const proto::HeldCut& cut, Outbox* outbox);
  void Evaluate(const proto::HeldCut& cut);
  void AskLedgers(Moment now, Outbox* outbox);
  void GrantAll(Moment now, Outbox* outbox);
  void DropCut(uint64_t cut, Outbox* outbox);
  void SaveRun(Outbox* outbox);
  void SendToAllPs(const proto::Command& command, Outbox* outbox);
  proto::Persist PersistCommand(uint64_t cut) const;

  const proto::JobPlan& plan_;
  proto::RunRecord& run_;
  History& history_;

  SplitQueue queue_;
  Checkpointer checkpointer_;
  std::unique_ptr<AlignedCut> cut_;
  std::unique_ptr<Evaluation> evaluation_;
  std::set<TaskId> workers_;
  std::vector<Asked> asked_;
  // Batches that some blocks had and others had not at the last cut: no new cut before they are in.
  BatchRanges torn_;
  absl::Duration no_grant_before_ = -absl::InfiniteDuration();
  absl::Duration no_cut_before_ = -absl::InfiniteDuration();
  uint64_t last_hold_ = 0;
  // The answers to the newest question to the ledgers.
  uint64_t last_query_ = 0;
  absl::Duration asked_ledgers_at_ = -absl::InfiniteDuration();
  std::map<uint32_t, proto::LedgerReply> ledgers_;
  bool stopped_ = false;
  Rate examples_rate_;
  Rate batches_rate_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_TRAINING_H_

#ifndef CAIRN_COORDINATOR_TRAINING_TRAINING_H_
#define CAIRN_COORDINATOR_TRAINING_TRAINING_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "coordinator/moment.h"
#include "coordinator/outbox.h"
#include "coordinator/training/cut_cycle.h"
#include "coordinator/training/epoch_ends.h"
#include "coordinator/training/history.h"
#include "coordinator/training/profile_round.h"
#include "coordinator/training/rate.h"
#include "coordinator/training/rate_announcement.h"
#include "coordinator/training/split_queue.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// One generation of a job while it trains: gives batches to workers, records what they report,
// drives the cuts (see CutCycle) and knows when all is done. A pure machine (but for reading
// history), not thread-safe.
class Training {
 public:
  // All outlive the training; `run` is written by it.
  struct Context {
    const proto::JobPlan* plan = nullptr;
    proto::RunRecord* run = nullptr;
    History* history = nullptr;
  };

  // `open`: what the ledgers of all ps lack. `manifests`: oldest first.
  Training(const Context& context, BatchRanges open, std::vector<proto::Manifest> manifests);
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  // An earlier process of the coordinator trained this generation. What it had begun is taken up,
  // and for a while nothing is leased: workers may come back that hold leases.
  void Resumed(Moment now, Outbox* outbox);

  // The worker has the job now.
  void AddWorker(TaskId worker);
  // It had it before, and these batches.
  void Adopt(TaskId worker, absl::Span<const proto::Split> holding);
  void RemoveWorker(TaskId worker);
  // The same process on a new stream: what was under way on the old one may be lost.
  void PsReturned(uint32_t ps, Outbox* outbox);

  void OnWork(TaskId worker, const proto::WorkReport& report, Moment now, Outbox* outbox);
  void OnHeld(TaskId worker, const proto::Held& held);
  void OnCut(uint32_t ps, const proto::CutReply& reply) { cuts_.OnCut(ps, reply); }
  void OnPersist(uint32_t ps, const proto::PersistReply& reply) { cuts_.OnPersist(ps, reply); }
  void OnCopied(uint32_t ps, const proto::CopyReply& reply) { cuts_.OnCopied(ps, reply); }
  void OnLedger(uint32_t ps, const proto::LedgerReply& reply);
  void OnProfiled(TaskId task, const proto::ProfileReport& report);
  void OnRates(uint32_t ps, const proto::RatesReply& reply) { rates_.Reply(ps, reply); }

  // Asks for a checkpoint; after one for "stop" nothing is leased until Resume.
  void AskForCheckpoint(const std::string& reason, CheckpointCallback callback) {
    cuts_.Ask(reason, std::move(callback));
  }
  void Resume() { cuts_.Resume(); }
  void WithdrawStop() { cuts_.WithdrawStop(); }
  // How far the job has come, into its record; saving that is the caller's.
  void RecordProgress() { cuts_.RecordProgress(); }
  // Has the next steps measured; `options` without number and job.
  void Profile(ProfileRound::Options options, ProfileCallback callback, Outbox* outbox);
  // Everybody who waits for a checkpoint or a profile gets this error: the training is given up.
  void Abandon(const absl::Status& why, Outbox* outbox);

  // Does what can be done now; to be called after every event and on ticks.
  void Advance(Moment now, Outbox* outbox);
  // All epochs are trained, evaluated, decided about and checkpointed.
  bool finished() const { return epoch_ends_.complete() && cuts_.finished(); }
  // Why the job may not go on; empty: it may.
  const std::string& failure() const { return failure_; }

  // What it waits for, in words that follow "waiting ": "for workers". Empty: for nothing but the
  // batches that are being computed.
  std::string WaitingFor() const;
  // What must happen next for the job to go on. Never empty.
  std::string NextNeeded() const;
  // Batches done, epochs evaluated, checkpoints written: a text that changes with every step
  // forward.
  std::string Progress() const;

  // Where it is and how fast; `status` has its total_batches, which a callback may have lowered.
  void FillStatus(absl::Duration now, proto::JobStatus* status);
  // With those that were passed over (see Checkpointer).
  std::vector<proto::Manifest> all_manifests() const { return cuts_.all_manifests(); }
  const std::vector<proto::Manifest>& manifests() const { return cuts_.manifests(); }

 private:
  void AskLedgers(Moment now, Outbox* outbox);
  // What decides, besides a worker's own reports, whether it gets work.
  struct GrantBasis {
    bool train = false;
    bool evaluate = false;
    int64_t limit = 0;
    bool operator==(const GrantBasis&) const = default;
  };

  void GrantWork(bool train, Moment now, Outbox* outbox);
  // Who is looked at; forgets who has reported.
  std::set<TaskId> TakeDue(const GrantBasis& basis, absl::Duration now);
  void GrantTo(TaskId worker, bool train, Moment now, Outbox* outbox);
  void CheckLoss(const proto::BatchRecord& record);
  void DecideEpochs(Outbox* outbox);
  std::string LowestBatchText() const;

  const proto::JobPlan& plan_;
  const proto::RunRecord& run_;
  History& history_;

  SplitQueue queue_;
  CutCycle cuts_;
  EpochEnds epoch_ends_;
  RateAnnouncement rates_;
  std::string failure_;
  std::vector<ProfileRound> profiles_;
  uint64_t last_profile_ = 0;
  std::set<TaskId> workers_;
  int64_t trainers_ = 0;  // Of them, those that do not only evaluate.
  // Who gets work is looked at where something has changed: with a thousand workers there is a
  // report every 50 microseconds. Everybody has a turn now and then all the same.
  std::set<TaskId> reported_;
  bool everybody_is_due_ = true;
  GrantBasis granted_on_;
  absl::Duration granted_to_all_at_ = -absl::InfiniteDuration();
  absl::Duration quiet_until_ = -absl::InfiniteDuration();
  // The answers to the newest question to the ledgers.
  uint64_t last_query_ = 0;
  absl::Duration asked_ledgers_at_ = -absl::InfiniteDuration();
  std::map<uint32_t, proto::LedgerReply> ledgers_;
  Rate examples_rate_;
  Rate batches_rate_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_TRAINING_H_

#ifndef CAIRN_COORDINATOR_TRAINING_TRAINING_H_
#define CAIRN_COORDINATOR_TRAINING_TRAINING_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "coordinator/event_time.h"
#include "coordinator/outbox.h"
#include "coordinator/training/checkpointer.h"
#include "coordinator/training/epoch_callbacks.h"
#include "coordinator/training/history.h"
#include "coordinator/training/learning_rate_broadcast.h"
#include "coordinator/training/profile_session.h"
#include "coordinator/training/rate.h"
#include "coordinator/training/split_queue.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"

namespace cairn::coordinator {

// One generation of a job while it trains: leases batches to workers, records what they report,
// drives the cuts (see Checkpointer), and knows when all is done.
//
// Pass it every message about the job, and call Advance after each event and on ticks. Pure state
// machine, except that it reads the history from the journal. Not thread-safe.
class Training {
 public:
  // All must outlive the training. It modifies `run`.
  struct Context {
    const proto::JobPlan* plan = nullptr;
    proto::RunRecord* run = nullptr;
    History* history = nullptr;
    // See MembershipOptions.
    absl::Duration progress_timeout = absl::InfiniteDuration();
    // The job may continue from replicas, which have the newest values only.
    bool replicated = false;
  };

  // `open`: the batches that the ledgers of all ps lack. `manifests`: oldest first.
  Training(const Context& context, BatchRanges open, std::vector<proto::Manifest> manifests);
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  // An earlier coordinator process trained this generation. Continues what it had begun. For
  // kReturnTime nothing is leased, since workers may come back with leases.
  void Resume(EventTime now, Outbox* outbox);

  // The worker has loaded the job.
  void AddWorker(TaskId worker);
  // The worker had the job before the coordinator restarted, with these leases.
  void Adopt(TaskId worker, absl::Span<const proto::Split> leases, Outbox* outbox);
  void RemoveWorker(TaskId worker);
  // A stuck worker keeps the batch that it computes, but gets no more work. All its leases are
  // given to others too; whoever is first counts, since the ledgers accept each batch once.
  void SetStuck(TaskId worker, bool stuck, Outbox* outbox);
  // What the worker has to do, named by its lowest batch: "batch 4 of epoch 2 and later ones". The
  // start of the job if it has not reported yet; empty if it waits for work.
  std::string WorkOf(TaskId worker) const;
  static std::string StartOf(TaskId worker);
  // Some worker, except this one, has started the job.
  bool OthersWork(TaskId worker) const;
  // For how long a worker may make no progress before it counts as stuck: longer in jobs of long
  // steps.
  absl::Duration Patience() const;
  // A heartbeat of a ps.
  void OnDiskProgress(uint32_t ps, uint64_t progress, EventTime now) {
    checkpointer_.OnDiskProgress(ps, progress, now);
  }
  // The same ps process has a new stream: commands and replies on the old one may be lost.
  void PsReconnected(uint32_t ps, Outbox* outbox);

  // Results of batches that the worker did not have, and those that do not fit the job, are
  // refused.
  void OnWork(TaskId worker, const proto::WorkReport& report, EventTime now, Outbox* outbox);
  void OnPaused(TaskId worker, const proto::WorkPaused& paused, Outbox* outbox);
  void OnCut(uint32_t ps, const proto::CutReply& reply) { checkpointer_.OnCut(ps, reply); }
  void OnPersist(uint32_t ps, const proto::PersistReply& reply) {
    checkpointer_.OnPersist(ps, reply);
  }
  void OnCopied(uint32_t ps, const proto::CopyReply& reply) { checkpointer_.OnCopied(ps, reply); }
  void OnLedger(uint32_t ps, const proto::LedgerReply& reply);
  void OnProfiled(TaskId task, const proto::ProfileReport& report);
  void OnRates(uint32_t ps, const proto::RatesReply& reply) { rates_.Reply(ps, reply); }

  // Requests a checkpoint. After one for "stop" nothing is leased until ContinueAfterStop.
  void AskForCheckpoint(const std::string& reason, CheckpointCallback callback) {
    checkpointer_.Ask(reason, std::move(callback));
  }
  void ContinueAfterStop() { checkpointer_.ContinueAfterStop(); }
  void CancelStop() { checkpointer_.CancelStop(); }
  // Writes the job's progress to its RunRecord. The caller saves the record.
  void RecordProgress() { checkpointer_.RecordProgress(); }
  // Starts a profile of the next steps. `options.id` and `options.job_id` are set here.
  void Profile(ProfileSession::Options options, ProfileCallback callback, Outbox* outbox);
  // The training ends without success: answers all requests for checkpoints and profiles with
  // `why`.
  void Abandon(const absl::Status& why, Outbox* outbox);

  // Takes every step that is possible now. Call it after every event and on ticks.
  void Advance(EventTime now, Outbox* outbox);
  // All epochs are trained, evaluated, decided and checkpointed.
  bool finished() const { return epoch_callbacks_.complete() && checkpointer_.finished(); }
  // Why the job must fail; empty if it may go on.
  const std::string& failure() const { return failure_; }
  // A rejected batch that is not applied (Job.on_non_finite), and who computed it. This generation
  // must end.
  struct NonFiniteBatch {
    TaskId worker;
    proto::BatchRecord record;
  };
  const std::optional<NonFiniteBatch>& non_finite() const { return non_finite_; }
  // Whether a batch was done in this generation.
  bool any_done() const { return any_done_; }

  // What the job waits for, to follow the word "waiting": "for workers". Empty if only batches are
  // being computed.
  std::string WaitingFor() const;
  // The next event that the job needs. Never empty.
  std::string NextNeeded() const;
  // Batches done, epochs evaluated, checkpoints written, as a text that changes with every step
  // forward.
  std::string Progress() const;

  // Fills in position and speed. The caller sets status->total_batches first: a callback may have
  // lowered it.
  void FillStatus(absl::Duration now, proto::JobStatus* status);
  // Including those that were passed over (see CheckpointRetention).
  std::vector<proto::Manifest> all_manifests() const { return checkpointer_.all_manifests(); }
  const std::vector<proto::Manifest>& manifests() const { return checkpointer_.manifests(); }

 private:
  void CountTasks();
  void AskLedgers(EventTime now, Outbox* outbox);
  bool IsMember(uint32_t ps) const;
  // The inputs to a grant besides the worker's own reports. A change of them concerns all workers.
  struct GrantBasis {
    bool train = false;
    bool evaluate = false;
    bool workers_evaluate = false;
    int64_t limit = 0;
    bool operator==(const GrantBasis&) const = default;
  };

  static void SendPause(TaskId worker, Outbox* outbox);
  void TakeFromSlow(EventTime now, Outbox* outbox);
  void GrantWork(bool train, EventTime now, Outbox* outbox);
  // Returns the workers to reconsider, and clears `reported_`.
  std::set<TaskId> TakeDue(const GrantBasis& basis, absl::Duration now);
  void GrantTo(TaskId worker, bool train, EventTime now, Outbox* outbox);
  bool WorkersEvaluate() const;
  void CheckLoss(const proto::BatchRecord& record, EventTime now, Outbox* outbox);
  void TakeUnapplied(TaskId worker, proto::WorkReport* report);
  bool MayBeTrue(TaskId worker, const proto::BatchRecord& record) const {
    return history_.Fits(record) && queue_.MayReport(worker, record.batch());
  }
  void DecideEpochs(EventTime now, Outbox* outbox);
  std::string NameOf(int64_t batch) const;
  std::string LowestBatchText() const;

  const proto::JobPlan& plan_;
  const std::vector<uint32_t> members_;  // The ps that take part.
  proto::RunRecord& run_;
  History& history_;

  SplitQueue queue_;
  const absl::Duration progress_timeout_;
  const bool replicated_;
  Checkpointer checkpointer_;
  EpochCallbacks epoch_callbacks_;
  LearningRateBroadcast rates_;
  std::string failure_;
  const bool rejects_;  // Job.on_non_finite.
  std::optional<NonFiniteBatch> non_finite_;
  bool any_done_ = false;
  std::vector<ProfileSession> profiles_;
  uint64_t last_profile_ = 0;
  std::set<TaskId> workers_;
  std::set<TaskId> stuck_;  // Members of `workers_`.
  // The members of `workers_` that are not stuck, by role.
  int64_t trainers_ = 0;
  int64_t evaluators_ = 0;
  // Only workers whose state changed are reconsidered: a thousand workers send a report every 50
  // microseconds. All workers are reconsidered every kGrantToAll as a safety net.
  std::set<TaskId> reported_;
  bool everybody_is_due_ = true;
  GrantBasis granted_on_;
  absl::Duration granted_to_all_at_ = -absl::InfiniteDuration();
  absl::Duration quiet_until_ = -absl::InfiniteDuration();
  // The replies to the newest ledger query.
  uint64_t last_query_ = 0;
  absl::Duration asked_ledgers_at_ = -absl::InfiniteDuration();
  std::map<uint32_t, proto::LedgerReply> ledgers_;
  Rate examples_rate_;
  Rate batches_rate_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_TRAINING_H_

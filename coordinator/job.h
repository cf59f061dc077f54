#ifndef CAIRN_COORDINATOR_JOB_H_
#define CAIRN_COORDINATOR_JOB_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/durable_job.h"
#include "coordinator/fit_workers.h"
#include "coordinator/membership.h"
#include "coordinator/moment.h"
#include "coordinator/outbox.h"
#include "coordinator/progress_watch.h"
#include "coordinator/recovery/early_reports.h"
#include "coordinator/recovery/recovery.h"
#include "coordinator/training/training.h"
#include "proto/coordinator.pb.h"
#include "storage/job_records.h"

namespace cairn::coordinator {

// A job's life: waiting for its weights and its turn, its data inspected, its blocks loaded by all
// ps, trained, rolled back when a ps is lost, and over. Every decision is in its records in the
// journal before it is sent; a Job made from those records goes on where the last one was. A pure
// machine (but for reading history), not thread-safe.
class Job {
 public:
  // All outlive the job.
  struct Context {
    const Membership* members = nullptr;
    const storage::Journal* journal = nullptr;
  };

  Job(Context context, storage::JobRecords records);

  uint64_t id() const { return durable_.id(); }
  const proto::JobRecord& record() const { return durable_.record(); }
  const std::optional<proto::JobPlan>& plan() const { return durable_.plan(); }
  bool over() const { return durable_.over(); }
  // Waits for its turn; or had it before the coordinator started again.
  bool ready() const { return durable_.ready(); }
  // Has its turn now.
  bool active() const { return phase_ != Phase::kIdle; }
  bool trains() const { return phase_ == Phase::kTraining; }
  const std::vector<proto::Manifest>& manifests() const;

  void CommitWeights(Outbox* outbox);
  // Its turn begins; after a restart of the coordinator with what tasks still hold of it, if all ps
  // do.
  void Activate(Moment now, Outbox* outbox);
  void Cancel(Moment now, Outbox* outbox);
  // FailedPrecondition unless it trains.
  void AskForCheckpoint(const std::string& reason, CheckpointCallback callback, Outbox* outbox);
  // FailedPrecondition unless it trains.
  void Profile(const ProfileRound::Options& options, ProfileCallback callback, Outbox* outbox);
  // After a checkpoint for a stop that did not come.
  void Resume();
  // Nobody waits any more for a checkpoint for a stop: if it comes late the job goes on.
  void WithdrawStop() {
    if (training_ != nullptr) training_->WithdrawStop();
  }

  // Active jobs hear of these. Whether a worker that joins may keep what it says it holds:
  bool KeepsLeases(const proto::Join& join, const Membership::Joined& joined) const;
  void WorkerJoined(TaskId worker, const proto::Join& join, bool keeps_leases, Outbox* outbox);
  void WorkerGone(TaskId worker, Outbox* outbox);
  void PsJoined(uint32_t ps, const proto::Join& join, bool continues, Outbox* outbox);
  void PsAway(uint32_t ps);
  void PsLost(uint32_t ps, Moment now, Outbox* outbox);
  void OnMessage(TaskId task, const proto::TaskMessage& message, Moment now, Outbox* outbox);

  // Does what can be done now; to be called after every event and on ticks.
  void Advance(Moment now, Outbox* outbox);

  // Of the status, which costs more the longer the job is.
  proto::JobState State() const;
  proto::JobStatus Status(absl::Duration now);

 private:
  enum class Phase {
    kIdle,        // Not its turn.
    kInspecting,  // A worker reads the data.
    kResuming,    // After a restart of the coordinator: which ps still have it?
    kRestoring,   // All ps load a checkpoint.
    kTraining,
  };

  void OnInspected(TaskId worker, const proto::InspectReply& reply, Moment now, Outbox* outbox);
  void OnFailure(TaskId worker, const proto::JobFailure& failure);
  void OnWork(TaskId worker, const proto::WorkReport& report, Moment now, Outbox* outbox);
  void OnHeartbeat(uint32_t ps, uint64_t duplicates_refused);

  void AdvanceInspection(Outbox* outbox);
  void AdvanceRecovery(Moment now, Outbox* outbox);
  void RollBack(const std::string& why, Moment now, Outbox* outbox);
  void NextGeneration(uint64_t checkpoint, Outbox* outbox);
  void BeginTraining(Moment now, Outbox* outbox);
  void AdoptWorkers(Moment now, Outbox* outbox);
  int64_t EpochsCut(const BatchRanges& open) const;
  void Fail(const std::string& why, Moment now, Outbox* outbox);
  void End(proto::JobRecord::Phase phase, const std::string& error, Moment now, Outbox* outbox);
  void StartJobOn(TaskId worker, Outbox* outbox);
  absl::Status NotTraining();
  // With those that were passed over (see Checkpointer).
  std::vector<proto::Manifest> AllManifests() const;
  std::string MissingPs() const;
  std::string WaitingFor() const;
  // What must happen next for the job to go on. Never empty.
  std::string NextNeeded() const;
  // Tells of a job that stands still, and of its going on.
  void WatchProgress(Moment now, Outbox* outbox);

  const Membership& members_;
  const storage::Journal& journal_;

  DurableJob durable_;
  FitWorkers workers_;

  Phase phase_ = Phase::kIdle;
  std::optional<TaskId> inspector_;
  std::optional<Recovery> recovery_;  // Once there is a plan.
  std::unique_ptr<History> history_;
  std::unique_ptr<Training> training_;
  // What workers said they hold while the ps were not all back.
  std::map<TaskId, std::vector<proto::Split>> holding_;
  EarlyReports early_reports_;       // Meanwhile.
  std::optional<uint32_t> lost_ps_;  // To be acted on by Advance.
  ProgressWatch progress_;
  std::vector<uint64_t> duplicates_seen_;  // By ps, of its present process.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_H_

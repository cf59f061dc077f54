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
#include "coordinator/crashing_work.h"
#include "coordinator/data_inspection.h"
#include "coordinator/eligible_workers.h"
#include "coordinator/event_time.h"
#include "coordinator/journaled_job.h"
#include "coordinator/membership.h"
#include "coordinator/outbox.h"
#include "coordinator/progress_watch.h"
#include "coordinator/recovery/buffered_reports.h"
#include "coordinator/recovery/job_loader.h"
#include "coordinator/training/training.h"
#include "proto/coordinator.pb.h"
#include "storage/job_records.h"

namespace cairn::coordinator {

// The life cycle of one job: wait for weights and its turn, inspect the data, load blocks on all
// ps, train, roll back when a ps is lost (or
// continue from the memory of the others, if the job has replicas), end. Every decision is
// journaled before it is sent. A Job made from the journaled records continues where the previous
// one stopped.
//
// Pass it every event, and call Advance after each one and on ticks. Pure state machine, except
// that it reads the history from the journal. Not thread-safe.
class Job {
 public:
  // All must outlive the job.
  struct Context {
    const Membership* members = nullptr;
    const storage::Journal* journal = nullptr;
  };

  Job(Context context, storage::JobRecords records);

  uint64_t id() const { return journaled_.id(); }
  const proto::JobRecord& record() const { return journaled_.record(); }
  const std::optional<proto::JobPlan>& plan() const { return journaled_.plan(); }
  bool over() const { return journaled_.over(); }
  // It failed before it began, and does not keep its name.
  bool refused() const { return journaled_.refused(); }
  // Waits for its turn, or had its turn before the coordinator restarted.
  bool ready() const { return journaled_.ready(); }
  // Has its turn.
  bool active() const { return active_; }
  bool trains() const { return training_ != nullptr; }
  // A worker that makes no progress for longer is stuck: longer than a slow step explains.
  absl::Duration Patience() const;
  const std::vector<proto::Manifest>& manifests() const;
  // For the end of a message to people who stop it now: "; job 1 goes on from checkpoint 7".
  std::string GoesOnFrom() const;

  void CommitWeights(Outbox* outbox);
  // The client that uploads the weights is gone.
  void FailUpload(const std::string& why, EventTime now, Outbox* outbox) { Fail(why, now, outbox); }
  // Begins the job's turn. After a restart of the coordinator it resumes with the state that tasks
  // still have, if all ps do.
  void Activate(EventTime now, Outbox* outbox);
  void Cancel(EventTime now, Outbox* outbox);
  // The job failed or was cancelled. It waits for its turn again, and then continues from its
  // newest checkpoint in a new generation. Errors as EpochCallbacks::CheckFiles's.
  absl::Status Reopen(EventTime now, Outbox* outbox);
  // FailedPrecondition unless it trains.
  void AskForCheckpoint(const std::string& reason, CheckpointCallback callback, Outbox* outbox);
  // FailedPrecondition unless it trains.
  void Profile(const ProfileSession::Options& options, ProfileCallback callback, Outbox* outbox);
  // After a coordinator's restart, while the members may still have what was trained. Not after a
  // clean stop, which left nothing unsaved.
  bool MayGoOnTraining() const { return Resuming() && !journaled_.run().stopped(); }
  // For a stop of a job that has nothing unsaved: it does not begin until ContinueAfterStop.
  void DelayTraining() { delayed_ = !trains(); }
  // Continues the job after the preparation of a stop that did not follow.
  void ContinueAfterStop();
  // The client that asked for a stop waits no longer: a late checkpoint does not stop the job.
  void CancelStop() {
    if (training_ != nullptr) training_->CancelStop();
  }

  // Events of members; only the active job gets them. KeepsLeases: whether a worker that joins may
  // keep the leases that it reports.
  bool KeepsLeases(const proto::Join& join, const Membership::Joined& joined) const;
  void WorkerJoined(TaskId worker, const proto::Join& join, bool keeps_leases, EventTime now,
                    Outbox* outbox);
  void WorkerGone(TaskId worker, EventTime now, Outbox* outbox);
  void PsJoined(uint32_t ps, const proto::Join& join, bool continues, Outbox* outbox);
  void PsAway(uint32_t ps);
  void PsLost(uint32_t ps, EventTime now, Outbox* outbox);
  void OnMessage(TaskId task, const proto::TaskMessage& message, EventTime now, Outbox* outbox);

  // Takes every step that is possible now. Call it after every event and on ticks.
  void Advance(EventTime now, Outbox* outbox);

  // The state alone. The cost of Status grows with the number of epochs.
  proto::JobState State() const;
  proto::JobStatus Status(absl::Duration now);

 private:
  // What the active job does, from its records: first workers inspect the data, which makes the
  // plan. Then all ps load a checkpoint; or, after a restart of the coordinator, they are asked
  // whether they still have the blocks that they had loaded before. Then it trains.
  bool Inspecting() const { return active_ && !plan().has_value(); }
  bool Restoring() const { return Loading() && !journaled_.run().restored(); }
  bool Resuming() const { return Loading() && journaled_.run().restored(); }
  bool Loading() const { return active_ && plan().has_value() && !trains(); }

  void OnInspected(TaskId worker, const proto::InspectReply& reply, EventTime now, Outbox* outbox);
  void NoteDamaged(const char* what, const proto::DamagedRecords& damaged, EventTime now);
  void OnFailure(TaskId worker, const proto::JobFailure& failure, EventTime now);
  void OnWork(TaskId worker, const proto::WorkReport& report, EventTime now, Outbox* outbox);
  void KeepLateReport(TaskId worker, const proto::WorkReport& report);
  void OnPsHeartbeat(uint32_t ps, const proto::Heartbeat& heartbeat, EventTime now);
  void OnWorkerHeartbeat(TaskId worker, EventTime now, Outbox* outbox);
  bool IsCutOff(TaskId worker) const;
  bool IsStalled() const;

  void AdvanceInspection(Outbox* outbox);
  void RetryWorkers(EventTime now, Outbox* outbox);
  void AdvanceRecovery(EventTime now, Outbox* outbox);
  void Recover(const std::string& why, EventTime now, Outbox* outbox);
  void ContinueFromReplicas(const std::string& why, EventTime now, Outbox* outbox);
  void TakeBack(const std::string& returned, EventTime now, Outbox* outbox);
  uint64_t NewestOfGeneration() const;
  void RollBack(const std::string& why, EventTime now, Outbox* outbox);
  void LeaveTraining(const std::string& why, Outbox* outbox);
  void OnNonFinite(EventTime now, Outbox* outbox);
  void HalveRate(const std::string& why, EventTime now, Outbox* outbox);
  void NextGeneration(uint64_t checkpoint, EventTime now, Outbox* outbox);
  void BeginTraining(EventTime now, Outbox* outbox);
  void AdoptWorkers(EventTime now, Outbox* outbox);
  int64_t EpochsCut(const BatchRanges& open) const;
  void Fail(const std::string& why, EventTime now, Outbox* outbox);
  void End(proto::JobState state, const std::string& error, EventTime now, Outbox* outbox);
  void StartJobOn(TaskId worker, Outbox* outbox);
  void NoteWorkOfLost(TaskId worker);
  bool OthersWork(TaskId worker) const;
  absl::Status NotTraining();
  // Including those that were passed over (see CheckpointRetention).
  std::vector<proto::Manifest> AllManifests() const;
  std::string MissingPs() const;
  std::string WaitingFor() const;
  // The next event that the job needs. Never empty.
  std::string NextNeeded() const;
  // Adds a note when the job stalls and when it goes on.
  void WatchProgress(EventTime now, Outbox* outbox);

  const Membership& members_;
  const storage::Journal& journal_;

  JournaledJob journaled_;
  EligibleWorkers workers_;
  CrashingWork crashing_;

  bool active_ = false;
  bool delayed_ = false;  // By a stop; see DelayTraining.
  DataInspection inspection_;
  uint64_t inspections_ = 0;         // That this process has begun.
  std::optional<JobLoader> loader_;  // Set once there is a plan.
  std::unique_ptr<History> history_;
  std::unique_ptr<Training> training_;
  // Leases reported by workers while the job is resuming. Adopted when training begins.
  std::map<TaskId, std::vector<proto::Split>> leases_;
  // Work reports of that time, and of a generation whose end the worker did not know.
  BufferedReports buffered_reports_;
  std::optional<uint32_t> lost_ps_;  // Handled by Advance.
  ProgressWatch progress_;
  std::vector<uint64_t> duplicates_seen_;  // By ps, of its current process.
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_JOB_H_

#ifndef CAIRN_COORDINATOR_SCHEDULER_H_
#define CAIRN_COORDINATOR_SCHEDULER_H_

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
#include "coordinator/event_time.h"
#include "coordinator/inference_queue.h"
#include "coordinator/job.h"
#include "coordinator/job_deletions.h"
#include "coordinator/job_table.h"
#include "coordinator/job_validation.h"
#include "coordinator/membership.h"
#include "coordinator/outbox.h"
#include "coordinator/training/task_meters.h"
#include "proto/coordinator.pb.h"
#include "proto/journal.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

using StopCallback = absl::AnyInvocable<void(absl::StatusOr<proto::PrepareStopReply>)>;

// The coordinator's state and decisions: its members, its jobs, and which job has its turn. Events
// go in; an Outbox of journal changes, commands and replies comes out; each event carries its time.
// The caller must write the journal changes before it sends anything (see Outbox).
//
// Reads the journal but never writes it; otherwise a pure state machine. Not thread-safe.
class Scheduler {
 public:
  struct Options {
    MembershipOptions membership;  // The cluster id and term come from the journal.
    uint64_t new_cluster_id = 0;   // Used if the journal has none.
    const storage::Journal* journal = nullptr;
  };

  // Reads the journal, counts this start as a new term and resumes unfinished jobs. Carry out
  // `outbox` before the first event. DataLoss: the journal is invalid.
  static absl::StatusOr<std::unique_ptr<Scheduler>> Create(Options options, EventTime now,
                                                           Outbox* outbox);

  // ---- tasks. A session is one stream; session numbers are never reused.
  void OnMessage(uint64_t session, const proto::TaskMessage& message, EventTime now,
                 Outbox* outbox);
  // A message waits to be handled: the task is not silent.
  void OnHeard(uint64_t session, EventTime now);
  void OnSessionEnd(uint64_t session, EventTime now, Outbox* outbox);
  // Call several times per second.
  void OnTick(EventTime now, Outbox* outbox);

  // The current session of a task; 0 if there is none.
  uint64_t SessionOf(TaskId task) const;

  // ---- clients. Errors as in proto/coordinator.proto. `job` is an id or a name.
  absl::StatusOr<proto::SubmitReply> Submit(const ValidatedJob& job, EventTime now, Outbox* outbox);
  absl::StatusOr<proto::JobStatus> CommitWeights(const std::string& job, EventTime now,
                                                 Outbox* outbox);
  absl::StatusOr<proto::JobStatus> ResumeJob(const std::string& job, EventTime now, Outbox* outbox);
  absl::StatusOr<proto::JobStatus> CancelJob(const std::string& job, EventTime now, Outbox* outbox);
  // FailedPrecondition for a name that several jobs have: it is ambiguous.
  absl::StatusOr<proto::DeleteJobReply> DeleteJob(const std::string& job, EventTime now,
                                                  Outbox* outbox);
  absl::StatusOr<uint64_t> FindJob(const std::string& job) const;
  absl::StatusOr<proto::JobState> GetState(uint64_t job_id) const;
  absl::StatusOr<proto::JobStatus> GetJob(const std::string& job, EventTime now);
  // The client that uploads the weights of the job says that it lives.
  void OnUploaderAlive(const std::string& job, EventTime now);
  proto::ListJobsReply ListJobs(EventTime now);
  absl::StatusOr<proto::JobPlan> GetPlan(const std::string& job) const;
  absl::StatusOr<proto::CheckpointList> ListCheckpoints(const std::string& job) const;
  proto::ClusterStatus GetCluster(EventTime now);
  void TakeCheckpoint(const std::string& job, CheckpointCallback callback, EventTime now,
                      Outbox* outbox);
  // Answered when every worker has done its steps, or after `timeout`.
  void Profile(const proto::ProfileRequest& request, ProfileCallback callback, EventTime now,
               Outbox* outbox);
  // The results go to `sink`. ResourceExhausted: too many clients wait.
  absl::Status Infer(proto::InferenceRequest request, std::shared_ptr<InferenceSink> sink,
                     EventTime now, Outbox* outbox);
  // Answered when the running job, if there is one, has a checkpoint and rests, or after `timeout`.
  // If the process is not stopped within a minute after that, the job goes on.
  void PrepareStop(absl::Duration timeout, StopCallback callback, EventTime now, Outbox* outbox);

 private:
  struct PendingStop {
    StopCallback callback;  // Null once answered.
    absl::Duration deadline;
    bool asked = false;  // The job, for a checkpoint.
  };

  Scheduler(Options options, proto::ClusterRecord cluster,
            const std::vector<proto::DeletedJob>& deleted);

  void OnJoin(uint64_t session, const proto::Join& join, EventTime now, Outbox* outbox);
  void CountRefused(Outbox* outbox);
  void Welcome(uint64_t session, const Membership::Joined& joined, bool keeps_leases,
               Outbox* outbox);
  // Tells all members where the ps are, unless that is `before`.
  void SendPsAddresses(const std::vector<std::string>& before, Outbox* outbox);
  // Whether the members have what the job needs. Returns those that a cluster without ps begins the
  // job without, since they were awaited for long enough. Aborted: some are still awaited.
  absl::StatusOr<std::set<uint32_t>> CheckMembersFit(const proto::SubmitRequest& request,
                                                     EventTime now) const;
  absl::Status CheckPsAreThere(const proto::SubmitRequest& request) const;
  int64_t DefaultBatchesPerUpdate() const;
  void SendHeartbeats(EventTime now, Outbox* outbox);
  bool AskForStops(EventTime now, Outbox* outbox);
  void ExpireStops(EventTime now, Outbox* outbox);
  // Tells a ps how much a job that waits for its weights will upload to it; nothing for other jobs.
  void ExpectUpload(const Job& job, uint32_t ps, Outbox* outbox) const;
  void ExpectUploads(const Job& job, Outbox* outbox) const;
  void ExpectNoUploads(const Job& job, Outbox* outbox) const;
  // The job ended before all of its weights had come: the ps delete those that did.
  void DropUploads(const Job& job, Outbox* outbox) const;
  // Ends jobs whose clients are gone before they have uploaded the weights.
  void ExpireUploads(EventTime now, Outbox* outbox);
  void Advance(EventTime now, Outbox* outbox);
  void AdvanceJobs(EventTime now, Outbox* outbox);
  // A worker or an evaluator is gone.
  void WorkerGone(TaskId worker, EventTime now, Outbox* outbox);
  Job* NextJob();
  absl::StatusOr<proto::SubmitReply> SubmitAgain(Job* job, const ValidatedJob& again,
                                                 EventTime now);
  proto::SubmitReply MakeSubmitReply(Job* job, bool existed, EventTime now);
  proto::JobStatus StatusOf(Job* job, EventTime now);

  const storage::Journal* const journal_;
  proto::ClusterRecord cluster_;
  Membership members_;
  TaskMeters meters_;
  JobDeletions deletions_;
  InferenceQueue inferences_;
  JobTable jobs_;
  Job* active_ = nullptr;
  absl::Duration heartbeat_at_ = -absl::InfiniteDuration();
  std::vector<std::shared_ptr<PendingStop>> stops_;
  // The last sign of each client that uploads the weights of a job, by the number of the job.
  std::map<uint64_t, absl::Duration> uploading_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_SCHEDULER_H_

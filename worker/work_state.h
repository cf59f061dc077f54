#ifndef CAIRN_WORKER_WORK_STATE_H_
#define CAIRN_WORKER_WORK_STATE_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "proto/coordinator.pb.h"
#include "worker/lease_queue.h"
#include "worker/report_queue.h"

namespace cairn::worker {

// Names one generation of one job. Everything that outlives a call carries the key of the
// generation that it belongs to, so that late results of an older one are recognized.
struct JobKey {
  uint64_t job_id = 0;
  uint64_t generation = 0;
  bool operator==(const JobKey&) const = default;
};

// A unit of work for the trainer's thread.
struct WorkItem {
  enum class Kind {
    kInspect,
    kProfile,
    kStartJob,
    kDropJob,
    kTrain,
    kEvaluate,
    kStartInference,
    kDropInference,
    kInfer
  };
  Kind kind = Kind::kTrain;
  std::shared_ptr<const proto::Inspect> inspect;
  std::shared_ptr<const proto::Profile> profile;
  std::shared_ptr<const proto::StartJob> job;
  std::shared_ptr<const proto::StartInference> inference;
  // kTrain, kEvaluate, kInfer: the batch to compute, and those that will probably follow.
  int64_t batch = 0;
  std::vector<int64_t> next;
  std::optional<int64_t> later;  // kTrain: one that is some steps ahead.
  uint64_t cut = 0;              // kEvaluate.
};

// The state machine of a worker: the current job and generation, the leased batches, and the
// messages owed to the coordinator. It computes nothing and sends nothing, so that tests can drive
// it without threads.
//
// The session's thread feeds commands in. The trainer's thread calls NextItem, computes, and
// reports the result. The sender's thread calls TakeMessages and sends them. Commands and results
// of any other generation than the current one are ignored.
//
// Not thread-safe: WorkerTask guards it with a mutex. Times are of any monotonic clock.
class WorkState {
 public:
  // ------------------------------------------------ the coordinator's side

  // A new stream was accepted. Forgets all leases unless `keep_leases`.
  void OnWelcome(bool keep_leases, absl::Duration now);
  // The coordinator belongs to another cluster. Job ids are unique only within a cluster, so the
  // current job must not be taken for one of the new cluster.
  void LeaveCluster() {
    if (job_) OnStopJob(job_->plan().job_id());
  }
  // Inferences, validation batches and unanswered requests end with the stream that brought them.
  // Training leases stay.
  void OnDisconnected();
  // Handles StartJob, StopJob, Grant, PauseWork, Inspect, Profile, StartInference, GrantInference
  // and EndInference. Ignores other commands.
  void OnCommand(const proto::Command& command);
  // The batches of the next kTrain items, if the trainer has loaded their job; at most 16.
  std::vector<int64_t> UpcomingBatches() const;
  // Sets the job, the generation and the leases in hand.
  void FillJoin(proto::Join* join) const;

  // Returns the messages that are due now, oldest first. A message that could not be sent is
  // returned by NotSent.
  std::vector<proto::TaskMessage> TakeMessages(absl::Duration now);
  void NotSent(const proto::TaskMessage& message);
  // Whether the coordinator may be waiting for a message: this worker has run out of batches, or
  // was asked to pause. The sender is then woken at once instead of at its next interval.
  bool SendSoon() const { return leases_.waiting() == 0 || !pauses_.empty(); }

  // ------------------------------------------------ the trainer's side

  std::optional<WorkItem> NextItem();

  // The job of the last kStartJob item is loaded; its batches may start.
  void Ready(JobKey key);
  // This worker cannot run the job, for now if the error is transient. Reports `why` to the
  // coordinator and drops the job's leases.
  void Failed(JobKey key, const std::string& why, bool transient);
  // A ps refused this generation. Nothing of it is started before the next StartJob.
  void GenerationIsOver(JobKey key);
  void Inspected(const proto::InspectReply& reply);
  // A kProfile item is complete: after its last step, or at once if it requested the steps so far.
  void Profiled(const proto::ProfileReport& report);

  // How a kTrain item ended. Applied: its gradients are applied on every ps, which may happen long
  // after the item; or it is rejected, and the job does not apply such batches. AppliedByOthers:
  // another worker's were. ReturnBatch: the step did not begin.
  void Applied(JobKey key, const proto::BatchRecord& record);
  void AppliedByOthers(JobKey key, int64_t batch);
  void ReturnBatch(JobKey key, int64_t batch);
  // How a kEvaluate item ended. EvaluationLost: the cut no longer exists on the ps.
  void Evaluated(JobKey key, const proto::EvaluatedBatch& batch);
  void EvaluationLost(JobKey key, uint64_t cut);

  // A report of the inference with its number. Ignored if that is not the current one.
  void Inferred(proto::InferenceReport report);

  // Called while `batch` waits for the ps. Returns false if it must not wait any longer: a smaller
  // batch has been leased, or `batch` is not leased any more.
  bool ShouldKeepWaiting(JobKey key, int64_t batch);
  // The step of the last kTrain item has ended: its batch is pushed, unless ReturnBatch follows.
  void StepEnded() {
    blocked_on_ = -1;
    computing_ = -1;
  }
  // Whether `key` names the current generation of the current job.
  bool IsCurrent(JobKey key) const;

  // After Stop no item is started.
  void Stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  // Whether any batch was started and is not applied yet.
  bool has_pending_batches() const { return !leases_.started().empty(); }

 private:
  struct PendingPause {
    proto::WorkPaused paused;
    std::set<int64_t> awaits;  // Batches that were started and are not applied yet.
  };
  struct Validation {
    uint64_t cut = 0;
    int64_t batch = 0;
  };

  void OnStartJob(const proto::StartJob& start);
  void ReportMissingPlan(const proto::StartJob& start);
  void OnStopJob(uint64_t job_id);
  void OnGrant(const proto::Grant& grant);
  void OnPause(const proto::PauseWork& pause);
  void OnGrantInference(const proto::GrantInference& grant);
  void EndInference();
  void ForgetLeases();
  void FinishBatch(int64_t batch);
  WorkItem EvaluationItem();
  WorkItem InferenceItem();
  WorkItem TrainingItem();
  // The number of started batches, without the one being computed.
  int64_t PushedCount() const;
  void ReportOver(std::vector<proto::TaskMessage>* messages, absl::Duration now);
  bool AddReport(std::vector<proto::TaskMessage>* messages, absl::Duration now);

  std::shared_ptr<const proto::StartJob> job_;
  bool job_changed_ = false;  // The trainer has not taken the kStartJob or kDropJob item yet.
  bool ready_ = false;        // The trainer has loaded job_.
  bool over_ = false;         // A ps refused this generation.
  // When the coordinator is told so (again). It knows already if a ps was lost.
  std::optional<absl::Duration> report_over_at_;
  bool stopping_ = false;
  std::deque<std::shared_ptr<const proto::Inspect>> inspections_;
  std::deque<std::shared_ptr<const proto::Profile>> profiles_;
  std::deque<proto::TaskMessage> answers_;
  std::optional<proto::JobFailure> failure_;
  bool failure_sent_ = false;

  LeaseQueue leases_;
  std::deque<Validation> validation_;
  bool evaluated_last_ = false;  // The last item was kEvaluate, not kTrain.
  // An inference belongs to no job. It is computed beside the job.
  std::shared_ptr<const proto::StartInference> inference_;
  // The trainer has not taken the kStartInference or kDropInference item yet.
  bool inference_changed_ = false;
  std::deque<int64_t> inference_batches_;
  int64_t inferring_ = -1;      // The batch of the kInfer item in progress; -1: none.
  bool inferred_last_ = false;  // The last item was kInfer.
  std::deque<PendingPause> pauses_;
  int64_t blocked_on_ = -1;  // The batch that waits for the ps; -1: none.
  int64_t computing_ = -1;   // The batch of the kTrain item in progress; -1: none.
  ReportQueue reports_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_WORK_STATE_H_

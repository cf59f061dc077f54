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
#include "worker/report_book.h"

namespace cairn::worker {

// One generation of one job.
struct JobKey {
  uint64_t job_id = 0;
  uint64_t generation = 0;
  bool operator==(const JobKey&) const = default;
};

// Something for the trainer to do.
struct Task {
  enum class Kind { kInspect, kProfile, kStartJob, kDropJob, kTrain, kEvaluate };
  Kind kind = Kind::kTrain;
  std::shared_ptr<const proto::Inspect> inspect;
  std::shared_ptr<const proto::Profile> profile;
  std::shared_ptr<const proto::StartJob> job;
  // kTrain, kEvaluate: the batch, and the one that will probably follow.
  int64_t batch = 0;
  std::optional<int64_t> next;
  uint64_t cut = 0;  // kEvaluate.
};

// What a worker was told by the coordinator, what it does about it, and what it has to answer: the
// whole worker but for computing. The trainer takes tasks and says what became of them; messages
// are taken out and sent by somebody else. Everything that concerns another generation than the
// present one is ignored. A pure machine, not thread-safe.
class WorkState {
 public:
  // ------------------------------------------------ the coordinator's side

  // A new stream. Unless it may keep its leases the worker forgets them.
  void OnWelcome(bool keep_leases, absl::Duration now);
  // The coordinator is another cluster's: its jobs have the same numbers, and are others.
  void LeaveCluster() {
    if (job_) OnStopJob(job_->plan().job_id());
  }
  // Grants of validation batches end with the stream that brought them.
  void OnDisconnected();
  // StartJob, StopJob, Grant, Hold, Inspect, Profile; others are ignored.
  void OnCommand(const proto::Command& command);
  // Job, generation and leases.
  void FillJoin(proto::Join* join) const;

  // Messages that are due now, oldest first. Those that cannot be sent come back by NotSent.
  std::vector<proto::TaskMessage> TakeMessages(absl::Duration now);
  void NotSent(const proto::TaskMessage& message);
  // Whether somebody may be waiting for what TakeMessages would give.
  bool SendSoon() const { return leases_.waiting() == 0 || !holds_.empty(); }

  // ------------------------------------------------ the trainer's side

  std::optional<Task> NextTask();

  // The job of the last kStartJob task can be worked on.
  void Ready(JobKey key);
  // It cannot be, ever: the coordinator is told why, and nothing of it is done any more.
  void Failed(JobKey key, const std::string& why);
  // The ps know a newer generation, or none: nothing is done before the next StartJob.
  void GenerationIsOver(JobKey key);
  void Inspected(const proto::InspectReply& reply);
  // A kProfile task is done: with its last step, or at once if it asked for what there is.
  void Profiled(const proto::ProfileReport& report);

  // How a kTrain task ended. Settled may be said long after the task.
  void Settled(JobKey key, const proto::BatchRecord& record);
  void SettledByOthers(JobKey key, int64_t batch);
  void PutBack(JobKey key, int64_t batch);
  // How a kEvaluate task ended; EvaluationLost: the cut is gone.
  void Evaluated(JobKey key, const proto::EvaluatedBatch& batch);
  void EvaluationLost(JobKey key, uint64_t cut);

  // The batch waits for others. False if it should not wait any longer: a smaller one has come, or
  // it is not leased any more.
  bool MayWait(JobKey key, int64_t batch);
  // The step of the last kTrain task is over: the batch is pushed, or PutBack says that it is not.
  void StepEnded() {
    blocked_on_ = -1;
    computing_ = -1;
  }
  // Whether the job is still this one.
  bool IsCurrent(JobKey key) const;

  // Nothing is started any more.
  void Stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }
  // Batches that were started and are not settled.
  bool anything_started() const { return !leases_.started().empty(); }

 private:
  struct PendingHold {
    proto::Held held;
    std::set<int64_t> awaits;  // Started and not settled.
  };
  struct Validation {
    uint64_t cut = 0;
    int64_t batch = 0;
  };

  void OnStartJob(const proto::StartJob& start);
  void OnStopJob(uint64_t job_id);
  void OnGrant(const proto::Grant& grant);
  void OnHold(const proto::Hold& hold);
  void ForgetLeases();
  void FinishBatch(int64_t batch);
  Task EvaluationTask();
  Task TrainingTask();
  // Batches that were started, but for the one that is computed now.
  int64_t PushedCount() const;
  bool AddReport(std::vector<proto::TaskMessage>* messages, absl::Duration now);

  std::shared_ptr<const proto::StartJob> job_;
  bool job_changed_ = false;  // The trainer does not know yet.
  bool ready_ = false;
  bool over_ = false;  // This generation is, as a ps said.
  bool stopping_ = false;
  std::deque<std::shared_ptr<const proto::Inspect>> inspections_;
  std::deque<std::shared_ptr<const proto::Profile>> profiles_;
  std::deque<proto::TaskMessage> answers_;
  std::optional<proto::JobFailure> failure_;
  bool failure_sent_ = false;

  LeaseQueue leases_;
  std::deque<Validation> validation_;
  bool evaluated_last_ = false;
  std::deque<PendingHold> holds_;
  int64_t blocked_on_ = -1;
  int64_t computing_ = -1;  // The batch of the kTrain task that has not ended.
  ReportBook book_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_WORK_STATE_H_

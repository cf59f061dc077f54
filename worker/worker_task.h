#ifndef CAIRN_WORKER_WORKER_TASK_H_
#define CAIRN_WORKER_WORKER_TASK_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/time.h"
#include "cluster/ps_client.h"
#include "cluster/task_session.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "nn/device.h"
#include "proto/coordinator.pb.h"
#include "worker/activity.h"
#include "worker/compute_threads.h"
#include "worker/data/files/data_storage.h"
#include "worker/inference.h"
#include "worker/job_runner.h"
#include "worker/strategy/create_strategy.h"
#include "worker/work_state.h"

namespace cairn::worker {

struct WorkerTaskOptions {
  std::string coordinator;                // HOST:PORT.
  proto::Role role = proto::WORKER;       // Or EVALUATOR, which only evaluates.
  int64_t index = -1;                     // In TF_CONFIG; -1: the coordinator chooses one.
  std::vector<std::string> ps_addresses;  // From TF_CONFIG; empty: the coordinator sends them.
  cluster::PsClientOptions::Own own_ps = {};
  std::vector<std::string> devices;  // Of all workers of this process, its own first.
  std::string device_name;           // Shown in place of the device's own; empty: none.
  ComputeThreads threads;
  DataStorage::Options storage = {};           // For the data of one job.
  int64_t gradient_memory = int64_t{1} << 30;  // Bytes; see JobRunner::Options.
  // Of an evaluator: after so many evaluations, or with the job that it evaluates, it is done. 0:
  // it serves job after job.
  int64_t max_evaluations = 0;
  // Called on a thread of the task when it is done; must not block. It may be called again.
  std::function<void(const std::string& why)> on_done;
  // Called when the device has failed. A new process may be able to use it.
  std::function<void(const std::string& why)> on_device_lost;
};

// A worker process: executes the coordinator's commands over a session.
//
// Threads:
//   session   receives commands, changes WorkState, and wakes the others; it never computes
//   trainer   takes tasks from WorkState and executes them, one at a time
//   sender    sends the messages that WorkState has due
//   others    the ps client's, which report acknowledged batches, and the batch loaders'
// All of them share WorkState under one mutex. No thread computes or waits for the network while it
// holds that mutex.
class WorkerTask final : public cluster::SessionHandler {
 public:
  // Called once, on a thread of the task, when the coordinator refuses this worker permanently.
  using OnRejected = std::function<void(const std::string& reason)>;

  // Starts the threads and connects. `device` must outlive the task.
  WorkerTask(const WorkerTaskOptions& options, nn::Device* device, OnRejected on_rejected);
  // Stops without grace.
  ~WorkerTask() override;

  // As cluster::TaskSession's.
  bool IsNeeded(absl::Duration waited) { return session_->IsNeeded(waited); }
  // Finishes the current batch if its pushes are acknowledged within `grace`, else drops it, and
  // ends the session. Blocks for as long as the batch's forward and backward passes take. May be
  // called more than once.
  void Stop(absl::Duration grace);

 private:
  void OnWelcome(const proto::Welcome& welcome) override;
  void OnCommand(const proto::Command& command) override;
  void OnDisconnected(const absl::Status& why) override;
  void OnRefused(const proto::Refused& refused) override;
  proto::Join MakeJoin();

  // Run on the trainer's thread.
  void Train();
  std::optional<WorkItem> WaitForItem();
  void Run(const WorkItem& item);
  void RunStartJob(const proto::StartJob& job);
  absl::Status StartJob(const proto::StartJob& job);
  void DropJob();
  void RunProfile(const proto::Profile& profile);
  void SendProfile(bool now);
  void RunTraining(const WorkItem& item);
  void RunEvaluation(const WorkItem& item);
  void RunInference(const WorkItem& item);
  absl::Status StartInference(const proto::InferenceRequest& request,
                              proto::InferenceReport* report);
  absl::Status Infer(const WorkItem& item, proto::InferenceReport* report);
  void RunFailed(const absl::Status& status);
  void WaitForApplied();
  // Counts the evaluation of this cut. Returns false if it is one too many.
  bool CountEvaluation(uint64_t cut);

  void Send();
  void WakeRunner();
  proto::Activity ReportActivity();

  const WorkerTaskOptions options_;
  nn::Device* const device_;
  const std::string device_text_;
  const OnRejected on_rejected_;
  const RealClock clock_;
  Activity activity_{&clock_};  // Of the trainer's thread.

  // Belong to the trainer's thread. Only the pointer is changed with runner_mutex_ held, for
  // WakeRunner, which any thread calls.
  std::unique_ptr<JobRunner> runner_;
  std::unique_ptr<Inference> inference_;  // Null: none, or it has failed.
  JobKey key_;
  absl::Duration last_step_end_ = -absl::InfiniteDuration();
  uint64_t evaluated_cut_ = 0;  // The last one.
  int64_t evaluations_ = 0;
  Mutex runner_mutex_;

  Mutex mutex_;
  ConditionVariable work_changed_;  // Wakes the trainer.
  ConditionVariable send_soon_;     // Wakes the sender.
  WorkState state_ ABSL_GUARDED_BY(mutex_);
  bool connected_ ABSL_GUARDED_BY(mutex_) = false;
  bool sender_stops_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Duration grace_ ABSL_GUARDED_BY(mutex_);
  int64_t index_ ABSL_GUARDED_BY(mutex_);
  ClusterInfo cluster_ ABSL_GUARDED_BY(mutex_);  // Of the last Welcome.

  std::unique_ptr<cluster::TaskSession> session_;
  std::thread trainer_;
  std::thread sender_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_WORKER_TASK_H_

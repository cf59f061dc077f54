#ifndef CAIRN_WORKER_JOB_RUNNER_H_
#define CAIRN_WORKER_JOB_RUNNER_H_

#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "nn/device.h"
#include "nn/executor.h"
#include "proto/coordinator.pb.h"
#include "worker/activity.h"
#include "worker/data/batch_loader.h"
#include "worker/evaluator.h"
#include "worker/job_data.h"
#include "worker/job_model.h"
#include "worker/objective_steps.h"
#include "worker/step_profiler.h"
#include "worker/strategy/create_strategy.h"
#include "worker/strategy/strategy.h"
#include "worker/trainer.h"

namespace cairn::worker {

// Holds everything that a worker needs to compute one job: data, model and executors, and a
// strategy for the current generation.
//
//   Create, then for each generation: StartGeneration, Train and Evaluate in any order
//
// The parts that only training or only evaluation needs are made at first use. All methods belong
// to one thread, except where it says otherwise.
class JobRunner {
 public:
  struct Options {
    int threads = 1;
    // False: this task only evaluates.
    bool trains = true;
    int64_t gradient_memory = int64_t{1} << 30;  // Bytes; see StrategyOptions.
    DataStorage::Options storage = {};
    Activity* activity = nullptr;  // Told what Train and Evaluate do. Must outlive the runner.
  };

  // Reads the data. An error says why this worker cannot run the job; ResourceExhausted means too
  // little memory. `device` must outlive the runner.
  static absl::StatusOr<std::unique_ptr<JobRunner>> Create(const proto::StartJob& job,
                                                           const Options& options,
                                                           nn::Device* device);
  ~JobRunner();

  // Begins a generation of the same job. Pushes and pulls of the previous one are cancelled.
  absl::Status StartGeneration(const proto::StartJob& job, const ClusterInfo& cluster,
                               Strategy::OnApplied on_applied);
  // Cancels pushes and pulls in flight. on_applied is not called after it returns.
  void EndGeneration();

  // As Trainer::Step and Evaluator::Evaluate. ResourceExhausted: too little memory.
  absl::StatusOr<Strategy::StepStatus> Train(const Trainer::Assignment& assignment,
                                             absl::FunctionRef<bool()> should_abandon);
  absl::StatusOr<proto::EvaluatedBatch> Evaluate(uint64_t cut, int64_t batch,
                                                 absl::Span<const int64_t> next,
                                                 absl::FunctionRef<bool()> should_abandon);

  // Profiles the next steps. Discards a profile in progress.
  void StartProfile(const proto::Profile& command);
  // Ends the profile and returns it if all of its steps are done, or, with `now`, whatever steps it
  // has. nullopt: it is not complete, or there is none.
  std::optional<proto::ProfileReport> TakeProfile(bool now);

  // Makes a Train or Evaluate that waits ask should_abandon. Callable from any thread.
  void Wake();
  // More batches of the next calls of Train are known now. Callable from any thread.
  void ExpectBatches(absl::Span<const int64_t> next);
  // As Strategy's. Callable from any thread.
  std::optional<cluster::PsClient::Silence> LongestSilence() const;

  uint64_t job_id() const { return job_.plan().job_id(); }

 private:
  JobRunner(const proto::StartJob& job, const Options& options, nn::Device* device)
      : options_(options), device_(device), job_(job) {}
  absl::Status MakeExecutor();
  absl::Status MakeEvaluator();
  void SetRecorder();

  const Options options_;
  nn::Device* const device_;
  proto::StartJob job_;
  JobModel model_;
  JobData data_;

  std::unique_ptr<nn::Executor> executor_;
  std::unique_ptr<ObjectiveSteps> objective_steps_;  // Of a job of several models.
  std::unique_ptr<BatchLoader> loader_;

  // The current generation's.
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<StepProfiler> profiler_;  // Null: no profile is in progress.
  // The owning thread changes strategy_ and loader_ with the lock held, because others read them.
  mutable Mutex mutex_;
  std::unique_ptr<Strategy> strategy_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_RUNNER_H_

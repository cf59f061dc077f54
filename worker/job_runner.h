#ifndef CAIRN_WORKER_JOB_RUNNER_H_
#define CAIRN_WORKER_JOB_RUNNER_H_

#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cluster/ps_client.h"
#include "common/mutex.h"
#include "nn/device.h"
#include "nn/executor.h"
#include "proto/coordinator.pb.h"
#include "worker/data/batch_loader.h"
#include "worker/evaluator.h"
#include "worker/job_data.h"
#include "worker/job_model.h"
#include "worker/step_profiler.h"
#include "worker/strategy/strategy.h"
#include "worker/trainer.h"

namespace cairn::worker {

// Everything that a worker needs to compute one job: data, model, executors, and for each
// generation a strategy. What is only needed for training or only for evaluation is made when it is
// first used. Belongs to one thread, but Wake.
class JobRunner {
 public:
  struct Options {
    int threads = 1;
    // False: evaluation only.
    bool trains = true;
    int64_t gradient_memory = int64_t{1} << 30;  // Bytes; see ParameterServerStrategy::Create.
    DataStorage::Options storage = {};
  };

  // Reads the data. The error says why this worker cannot do the job; ResourceExhausted if it lacks
  // memory. `device` must outlive it.
  static absl::StatusOr<std::unique_ptr<JobRunner>> Create(const proto::StartJob& job,
                                                           const Options& options,
                                                           nn::Device* device);
  ~JobRunner();

  // Begins a generation of the same job; what is under way of the last one is cancelled.
  absl::Status StartGeneration(const proto::StartJob& job,
                               std::shared_ptr<cluster::PsClient> client,
                               Strategy::OnSettled on_settled);
  // Cancels what is under way. Afterwards nothing calls on_settled.
  void EndGeneration();

  // Both as Trainer::Step and Evaluator::Evaluate; lack of memory is ResourceExhausted.
  absl::StatusOr<Strategy::Ready> Train(const Trainer::Assignment& assignment,
                                        absl::FunctionRef<bool()> should_abandon);
  absl::StatusOr<proto::EvaluatedBatch> Evaluate(uint64_t cut, int64_t batch,
                                                 std::optional<int64_t> next,
                                                 absl::FunctionRef<bool()> should_abandon);

  // The next steps are measured; a profile that is under way is given up.
  void StartProfile(const proto::Profile& command);
  // Ends the profile: when all of its steps are done, or, if `now`, with what it has. nullopt: it
  // is not complete, or there is none.
  std::optional<proto::ProfileReport> TakeProfile(bool now);

  // Makes a call that waits ask should_abandon. Any thread.
  void Wake();

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
  std::unique_ptr<BatchLoader> loader_;

  // Of the generation.
  std::shared_ptr<cluster::PsClient> client_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<StepProfiler> profiler_;  // Null: nothing is measured.
  // The owner changes the pointers with the lock held; Wake reads them.
  Mutex mutex_;
  std::unique_ptr<Strategy> strategy_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Evaluator> evaluator_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_JOB_RUNNER_H_

#ifndef CAIRN_WORKER_TRAINER_H_
#define CAIRN_WORKER_TRAINER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/span_recorder.h"
#include "job/class_weights.h"
#include "nn/executor.h"
#include "proto/job.pb.h"
#include "worker/activity.h"
#include "worker/data/batch_loader.h"
#include "worker/strategy/strategy.h"

namespace cairn::worker {

// Converts a loaded batch for the executor. The result borrows the batch's memory. `random_key` is
// that of nn::Executor::Batch.
nn::Executor::Batch ExecutorBatch(const LoadedBatch& batch, uint64_t random_key);

// The training step: load the batch, pull values, forward, backward, push gradients. It is the same
// for every strategy. Belongs to one thread.
class Trainer {
 public:
  struct Assignment {
    int64_t batch = 0;
    // Probably the batch of the next step. It is loaded while this one is computed.
    std::optional<int64_t> next;
    // The worker did something else since its last step; see Strategy::Step.
    bool after_idle = false;
  };

  // All pointers must outlive the trainer. `seed` is the job's; `class_weights` may be null.
  Trainer(nn::Executor* executor, BatchLoader* loader, Strategy* strategy, Activity* activity,
          uint64_t seed, const job::ClassWeights* class_weights = nullptr)
      : executor_(executor),
        loader_(loader),
        strategy_(strategy),
        activity_(*activity),
        seed_(seed),
        class_weights_(class_weights) {}

  // Trains on one batch. kOk: the batch is computed and its gradients are sent; the strategy
  // reports later that they are applied. Errors are the loader's, the strategy's and the
  // executor's.
  absl::StatusOr<Strategy::StepStatus> Step(const Assignment& assignment,
                                            absl::FunctionRef<bool()> should_abandon);

  // Records the phases of the next steps; null: records nothing.
  void set_recorder(SpanRecorder* recorder) { recorder_ = recorder; }

 private:
  absl::StatusOr<nn::Executor::BatchResults> Compute(const LoadedBatch& loaded);

  nn::Executor* const executor_;
  BatchLoader* const loader_;
  Strategy* const strategy_;
  Activity& activity_;
  const uint64_t seed_;
  const job::ClassWeights* const class_weights_;
  std::vector<float> example_weights_;
  SpanRecorder* recorder_ = nullptr;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_TRAINER_H_

#ifndef CAIRN_WORKER_TRAINER_H_
#define CAIRN_WORKER_TRAINER_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/span_recorder.h"
#include "job/class_weights.h"
#include "nn/executor.h"
#include "proto/job.pb.h"
#include "worker/activity.h"
#include "worker/data/batch_loader.h"
#include "worker/objective_steps.h"
#include "worker/strategy/strategy.h"

namespace cairn::worker {

// Converts a loaded batch for the executor. The result borrows the batch's memory. `random_key` is
// that of nn::Executor::Batch.
nn::Executor::Batch ExecutorBatch(const LoadedBatch& batch, uint64_t random_key);

// The training step: load the batch, pull values, forward, backward, push gradients. It is the same
// for every strategy. Belongs to one thread.
//
// If the loss or a gradient of a batch is NaN or infinite, no gradient of the batch is pushed: the
// batch is rejected (Job.on_non_finite).
class Trainer {
 public:
  struct Assignment {
    int64_t batch = 0;
    // Probably the batches of the next steps. They are loaded while this one is computed.
    std::vector<int64_t> next;
    // Probably a batch of a later step, whose files are opened meanwhile.
    std::optional<int64_t> later;
    // The worker did something else since its last step; see Strategy::Step.
    bool after_idle = false;
  };

  // Called with the record of a rejected batch that is not applied.
  using OnRejected = Strategy::OnApplied;

  // All pointers must outlive the trainer. `seed` is the job's; `class_weights` may be null.
  // `on_rejected` null: a rejected batch is applied without gradients. Otherwise the coordinator
  // decides what follows.
  Trainer(nn::Executor* executor, BatchLoader* loader, Strategy* strategy, Activity* activity,
          uint64_t seed, const job::ClassWeights* class_weights = nullptr,
          OnRejected on_rejected = nullptr)
      : executor_(executor),
        loader_(loader),
        strategy_(strategy),
        activity_(*activity),
        seed_(seed),
        class_weights_(class_weights),
        on_rejected_(std::move(on_rejected)) {}

  // Trains on one batch. kOk: the batch is computed and its gradients are sent, or it is rejected;
  // the strategy reports later that it is applied. Errors are the loader's, the strategy's and the
  // executor's.
  absl::StatusOr<Strategy::StepStatus> Step(const Assignment& assignment,
                                            absl::FunctionRef<bool()> should_abandon);

  // In a job of several models: computes the steps instead of the executor, which then only holds
  // the variables. Must outlive the trainer. `batches_per_update` is the plan's.
  void set_objective_steps(ObjectiveSteps* steps, int64_t batches_per_update) {
    objective_steps_ = steps;
    batches_per_update_ = batches_per_update;
  }

  // Records the phases of the next steps; null: records nothing.
  void set_recorder(SpanRecorder* recorder) {
    recorder_ = recorder;
    loader_->set_measures(recorder != nullptr);
  }
  // Of the last step's batch, if they were measured.
  const std::optional<LoadTimes>& load_times() const { return load_times_; }

 private:
  // Sets `finite` to whether the loss and all gradients are. Gradients are in `gradients_` then.
  absl::StatusOr<proto::BatchRecord> Compute(const LoadedBatch& loaded, bool* finite);
  // The same for a job of several models.
  absl::StatusOr<proto::BatchRecord> ComputeObjectives(const LoadedBatch& loaded,
                                                       const nn::Executor::Batch& batch,
                                                       bool* finite);
  void PushGradients(int64_t batch);

  nn::Executor* const executor_;
  BatchLoader* const loader_;
  Strategy* const strategy_;
  Activity& activity_;
  const uint64_t seed_;
  const job::ClassWeights* const class_weights_;
  const OnRejected on_rejected_;
  std::optional<LoadTimes> load_times_;
  std::vector<float> example_weights_;
  std::vector<int> gradients_;  // Variables whose gradients are complete, in this order.
  ObjectiveSteps* objective_steps_ = nullptr;
  int64_t batches_per_update_ = 1;
  SpanRecorder* recorder_ = nullptr;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_TRAINER_H_

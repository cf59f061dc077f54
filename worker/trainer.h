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
#include "worker/data/batch_loader.h"
#include "worker/strategy/strategy.h"

namespace cairn::worker {

// A loaded batch as the executor takes it; borrows the batch's memory. `random_key`: Batch's.
nn::Executor::Batch ExecutorBatch(const LoadedBatch& batch, uint64_t random_key);

// The training step, the same for every strategy. Belongs to one thread.
class Trainer {
 public:
  struct Assignment {
    int64_t batch = 0;
    // Probably the batch of the next step: it is loaded meanwhile.
    std::optional<int64_t> next;
    bool after_idle = false;
  };

  // All must outlive the trainer. `seed` is the job's; `class_weights` may be null.
  Trainer(nn::Executor* executor, BatchLoader* loader, Strategy* strategy, uint64_t seed,
          const job::ClassWeights* class_weights = nullptr)
      : executor_(executor),
        loader_(loader),
        strategy_(strategy),
        seed_(seed),
        class_weights_(class_weights) {}

  // One batch: values, forward, backward, gradients. When it returns kYes the batch is computed; it
  // is settled when the strategy says so. The errors are the loader's, the strategy's and the
  // executor's.
  absl::StatusOr<Strategy::Ready> Step(const Assignment& assignment,
                                       absl::FunctionRef<bool()> should_abandon);

  // The phases of the next steps are recorded; null: they are not.
  void set_recorder(SpanRecorder* recorder) { recorder_ = recorder; }

 private:
  absl::StatusOr<nn::Executor::Sums> Compute(const LoadedBatch& loaded);

  nn::Executor* const executor_;
  BatchLoader* const loader_;
  Strategy* const strategy_;
  const uint64_t seed_;
  const job::ClassWeights* const class_weights_;
  std::vector<float> example_weights_;
  SpanRecorder* recorder_ = nullptr;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_TRAINER_H_

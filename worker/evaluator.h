#ifndef CAIRN_WORKER_EVALUATOR_H_
#define CAIRN_WORKER_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/device.h"
#include "nn/executor.h"
#include "proto/coordinator.pb.h"
#include "worker/activity.h"
#include "worker/data/batch_loader.h"
#include "worker/job_data.h"
#include "worker/job_model.h"
#include "worker/strategy/strategy.h"

namespace cairn::worker {

// The result of a batch in the form that is reported.
proto::EvaluatedBatch MakeEvaluatedBatch(uint64_t cut, int64_t batch,
                                         const nn::Executor::BatchResults& results);

// Computes loss and metrics of validation batches on a cut, in one generation of a job. It has an
// executor of its own, so that it does not overwrite the values that training uses. Belongs to one
// thread.
class Evaluator {
 public:
  // Model, device, strategy and activity must outlive the evaluator. Errors as Executor::Create.
  static absl::StatusOr<std::unique_ptr<Evaluator>> Create(const proto::JobPlan& plan,
                                                           const JobModel& model,
                                                           const JobData& data, int threads,
                                                           nn::Device* device, Strategy* strategy,
                                                           Activity* activity);

  // Evaluates one batch and loads those of `next` meanwhile. Loads the cut's values first unless
  // the previous batch was on the same cut. Errors: Strategy::LoadCut's (NotFound and
  // FailedPrecondition: the cut no longer exists); the executor's (InvalidArgument).
  absl::StatusOr<proto::EvaluatedBatch> Evaluate(uint64_t cut, int64_t batch,
                                                 absl::Span<const int64_t> next,
                                                 absl::FunctionRef<bool()> should_abandon);

 private:
  Evaluator(const proto::JobPlan& plan, const JobData& data, Strategy* strategy, Activity* activity)
      : loader_(data.validation, BatchSampler::ForValidation(plan), data.storage),
        strategy_(strategy),
        activity_(*activity) {}

  BatchLoader loader_;
  Strategy* const strategy_;
  Activity& activity_;
  std::unique_ptr<nn::Executor> executor_;
  // The cut whose values the executor has; 0: none.
  uint64_t cut_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_EVALUATOR_H_

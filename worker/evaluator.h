#ifndef CAIRN_WORKER_EVALUATOR_H_
#define CAIRN_WORKER_EVALUATOR_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "cluster/ps_client.h"
#include "nn/device.h"
#include "nn/executor.h"
#include "proto/coordinator.pb.h"
#include "worker/data/batch_loader.h"
#include "worker/job_model.h"
#include "worker/strategy/block_table.h"
#include "worker/strategy/value_puller.h"

namespace cairn::worker {

// Computes loss and metrics of validation batches on a cut, in one generation of a job. It has an
// executor of its own, so that it does not overwrite the values that training uses. All methods
// belong to one thread, except Wake.
class Evaluator {
 public:
  // Model, device and client must outlive the evaluator. Errors as BlockTable::Create and
  // Executor::Create.
  static absl::StatusOr<std::unique_ptr<Evaluator>> Create(
      const proto::StartJob& job, const JobModel& model, std::shared_ptr<const Dataset> validation,
      int threads, nn::Device* device, cluster::PsClient* client);

  // Evaluates one batch and loads `next` meanwhile. Pulls the cut's values first unless the
  // previous batch was on the same cut. Errors: Cancelled, if should_abandon returned true; the
  // pull's (NotFound and FailedPrecondition: the cut no longer exists); the executor's
  // (InvalidArgument).
  absl::StatusOr<proto::EvaluatedBatch> Evaluate(uint64_t cut, int64_t batch,
                                                 std::optional<int64_t> next,
                                                 absl::FunctionRef<bool()> should_abandon);

  // Makes an Evaluate that waits ask should_abandon. Callable from any thread.
  void Wake() { puller_.Wake(); }

 private:
  Evaluator(const proto::StartJob& job, BlockTable table, std::shared_ptr<const Dataset> validation,
            cluster::PsClient* client);
  absl::Status PullCut(uint64_t cut, absl::FunctionRef<bool()> should_abandon);

  const uint64_t job_id_;
  const uint64_t generation_;
  const BlockTable table_;
  BatchLoader loader_;
  ValuePuller puller_;
  std::unique_ptr<nn::Executor> executor_;
  // The cut whose values the executor has; 0: none.
  uint64_t cut_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_EVALUATOR_H_

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

// Computes loss and metrics of validation batches on a cut, in one generation of a job. Has an
// executor of its own, so that training's values stay where they are. Belongs to one thread, but
// Wake.
class Evaluator {
 public:
  // Everything pointed to must outlive it. Errors as BlockTable::Create and Executor::Create.
  static absl::StatusOr<std::unique_ptr<Evaluator>> Create(
      const proto::StartJob& job, const JobModel& model, std::shared_ptr<const Dataset> validation,
      int threads, nn::Device* device, cluster::PsClient* client);

  // Pulls the cut's values first unless the last batch was on the same cut. Cancelled:
  // should_abandon said so. Other errors are the pull's (NotFound, FailedPrecondition: the cut is
  // gone) or the executor's (InvalidArgument).
  absl::StatusOr<proto::EvaluatedBatch> Evaluate(uint64_t cut, int64_t batch,
                                                 std::optional<int64_t> next,
                                                 absl::FunctionRef<bool()> should_abandon);

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
  // Whose values the executor has; 0: none's.
  uint64_t cut_ = 0;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_EVALUATOR_H_

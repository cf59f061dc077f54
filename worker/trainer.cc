#include "worker/trainer.h"

#include "common/random.h"
#include "common/status_macros.h"

namespace cairn::worker {
namespace {

proto::BatchRecord MakeRecord(int64_t batch, const nn::Executor::Sums& sums) {
  proto::BatchRecord record;
  record.set_batch(batch);
  record.set_examples(sums.examples);
  record.set_loss(sums.loss_sum / static_cast<double>(sums.examples) + sums.penalty);
  for (const nn::MetricSum& metric : sums.metrics) record.add_metrics(metric.sum / metric.count);
  return record;
}

}  // namespace

nn::Executor::Batch ExecutorBatch(const LoadedBatch& batch, uint64_t random_key) {
  nn::Executor::Batch result;
  result.size = batch.examples;
  for (const auto& input : batch.inputs) result.inputs.push_back(input.data());
  result.labels = batch.labels.data();
  result.random_key = random_key;
  return result;
}

absl::StatusOr<Strategy::Ready> Trainer::Step(const Assignment& assignment,
                                              absl::FunctionRef<bool()> should_abandon) {
  CAIRN_ASSIGN_OR_RETURN(const LoadedBatch* const batch,
                         loader_->Get(assignment.batch, assignment.next));
  const LoadedBatch& loaded = *batch;
  CAIRN_ASSIGN_OR_RETURN(
      const Strategy::Ready ready,
      strategy_->BeginStep({assignment.batch, loaded.examples, assignment.after_idle},
                           should_abandon));
  if (ready != Strategy::Ready::kYes) return ready;
  const uint64_t random_key =
      DeriveKey(DeriveKey(seed_, "batch"), static_cast<uint64_t>(assignment.batch));
  CAIRN_ASSIGN_OR_RETURN(const nn::Executor::Sums sums,
                         executor_->Forward(ExecutorBatch(loaded, random_key), true));
  executor_->Backward([this](int variable) { strategy_->OnGradient(variable); });
  CAIRN_RETURN_IF_ERROR(strategy_->EndStep(MakeRecord(assignment.batch, sums)));
  return ready;
}

}  // namespace cairn::worker

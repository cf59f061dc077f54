#include "worker/trainer.h"

#include <cmath>
#include <vector>

#include "common/failpoint.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "worker/step_phase.h"

namespace cairn::worker {
namespace {

proto::BatchRecord MakeRecord(int64_t batch, const nn::Executor::BatchResults& results,
                              const nn::Objective& objective) {
  proto::BatchRecord record;
  record.set_batch(batch);
  record.set_examples(results.examples);
  record.set_loss(results.loss_sum / static_cast<double>(results.examples) + results.penalty);
  for (size_t i = 0; i < results.metrics.size(); ++i) {
    const std::vector<double>& state = results.metrics[i];
    record.add_metrics(objective.metrics()[i].metric->Result(state));
    record.add_metric_states()->mutable_values()->Assign(state.begin(), state.end());
  }
  return record;
}

}  // namespace

nn::Executor::Batch ExecutorBatch(const LoadedBatch& batch, uint64_t random_key) {
  nn::Executor::Batch result;
  result.size = batch.examples;
  for (const auto& input : batch.inputs) result.inputs.push_back(input.data());
  for (const auto& labels : batch.labels) result.labels.push_back(labels.data());
  if (!batch.weights.empty()) result.weights = batch.weights.data();
  result.random_key = random_key;
  return result;
}

absl::StatusOr<nn::Executor::BatchResults> Trainer::Compute(const LoadedBatch& loaded) {
  // The key depends only on the seed and the batch's number: dropout is the same whichever worker
  // computes the batch, and after a restart.
  nn::Executor::Batch batch = ExecutorBatch(
      loaded, DeriveKey(DeriveKey(seed_, "batch"), static_cast<uint64_t>(loaded.batch)));
  if (class_weights_ != nullptr) {
    example_weights_.resize(loaded.examples);
    CAIRN_RETURN_IF_ERROR(
        class_weights_->Fill(loaded.examples, batch.labels[0], example_weights_.data()));
    for (size_t i = 0; i < loaded.weights.size(); ++i) example_weights_[i] *= loaded.weights[i];
    batch.weights = example_weights_.data();
  }
  nn::Executor::BatchResults results;
  {
    const ScopedSpan span(recorder_, kForwardPhase);
    CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.forward"));
    CAIRN_ASSIGN_OR_RETURN(results, executor_->Forward(batch, true));
  }
  const ScopedSpan span(recorder_, kBackwardPhase);
  // Gradients are handed over as they become complete, last layer first, so that sending them
  // overlaps with the rest of the backward pass.
  CAIRN_RETURN_IF_ERROR(executor_->Backward([this, &loaded](int variable) {
    const ScopedSpan push_span(recorder_, kPushPhase);
    // It may wait until the ps have taken earlier gradients.
    activity_.Enter(proto::Activity::WAITING, loaded.batch);
    strategy_->OnGradient(variable);
    activity_.Enter(proto::Activity::COMPUTING, loaded.batch);
  }));
  return results;
}

absl::StatusOr<Strategy::StepStatus> Trainer::Step(const Assignment& assignment,
                                                   absl::FunctionRef<bool()> should_abandon) {
  if (recorder_ != nullptr) recorder_->set_batch(assignment.batch);
  const int64_t begin = recorder_ != nullptr ? SpanRecorder::Now() : 0;
  // The batch is loaded before the values are pulled: they would grow stale during a slow read.
  activity_.Enter(proto::Activity::READING, assignment.batch);
  CAIRN_ASSIGN_OR_RETURN(const LoadedBatch* const batch,
                         loader_->Get(assignment.batch, assignment.next));
  if (recorder_ != nullptr) recorder_->Add(kReadPhase, begin, SpanRecorder::Now());
  const LoadedBatch& loaded = *batch;
  activity_.Enter(proto::Activity::WAITING, assignment.batch);
  // Blocks until the values are fresh enough; gradients are sent from within Compute.
  CAIRN_ASSIGN_OR_RETURN(
      const Strategy::StepStatus status,
      strategy_->BeginStep({assignment.batch, loaded.examples, assignment.after_idle, recorder_},
                           should_abandon));
  if (status != Strategy::StepStatus::kOk) return status;
  activity_.Enter(proto::Activity::COMPUTING, assignment.batch);
  CAIRN_ASSIGN_OR_RETURN(const nn::Executor::BatchResults results, Compute(loaded));
  // The record goes with the end of the step: the batch may be applied as soon as EndStep is
  // called.
  proto::BatchRecord record = MakeRecord(assignment.batch, results, executor_->objective());
  // Scans the whole batch, so only if there is a reason.
  if (!std::isfinite(record.loss())) record.set_data_not_finite(!loader_->IsFinite(loaded));
  const ScopedSpan span(recorder_, kPushPhase);
  activity_.Enter(proto::Activity::WAITING, assignment.batch);
  CAIRN_RETURN_IF_ERROR(strategy_->EndStep(record));
  return status;
}

}  // namespace cairn::worker

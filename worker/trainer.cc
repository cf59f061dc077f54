#include "worker/trainer.h"

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "common/failpoint.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "nn/all_finite.h"
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

absl::StatusOr<proto::BatchRecord> Trainer::Compute(const LoadedBatch& loaded, bool* finite) {
  // The key depends only on the seed and the batch's number: dropout is the same whichever worker
  // computes the batch, and after a restart.
  nn::Executor::Batch batch = ExecutorBatch(
      loaded, DeriveKey(DeriveKey(seed_, "batch"), static_cast<uint64_t>(loaded.batch)));
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.forward"));
  if (objective_steps_ != nullptr) return ComputeObjectives(loaded, batch, finite);
  if (class_weights_ != nullptr) {
    example_weights_.resize(loaded.examples);
    CAIRN_RETURN_IF_ERROR(
        class_weights_->Fill(loaded.examples, batch.labels[0], example_weights_.data()));
    for (size_t i = 0; i < loaded.weights.size(); ++i) example_weights_[i] *= loaded.weights[i];
    batch.weights = example_weights_.data();
  }
  proto::BatchRecord record;
  gradients_.clear();
  std::optional<ScopedSpan> span(std::in_place, recorder_, kForwardPhase);
  const auto on_results = [&](const nn::Executor::BatchResults& results) {
    record = MakeRecord(loaded.batch, results, executor_->objective());
    *finite = std::isfinite(record.loss());
    // Without a finite loss no gradient is of use.
    if (*finite) span.emplace(recorder_, kBackwardPhase);
    return *finite;
  };
  CAIRN_RETURN_IF_ERROR(executor_->Step(batch, on_results, [this, finite](int variable) {
    gradients_.push_back(variable);
    // Now, because the gradient is still in the cache.
    *finite = *finite && nn::AllFinite(executor_->gradient(variable));
  }));
  return record;
}

absl::StatusOr<proto::BatchRecord> Trainer::ComputeObjectives(const LoadedBatch& loaded,
                                                              const nn::Executor::Batch& batch,
                                                              bool* finite) {
  // The losses have a forward and a backward pass each, in turn.
  const ScopedSpan span(recorder_, kForwardPhase);
  CAIRN_ASSIGN_OR_RETURN(const ObjectiveSteps::Results results,
                         objective_steps_->Compute(batch, loaded.batch / batches_per_update_));
  proto::BatchRecord record = MakeRecord(loaded.batch, results.losses, executor_->objective());
  gradients_ = results.variables;
  *finite = std::isfinite(record.loss());
  for (const int variable : gradients_) {
    *finite = *finite && nn::AllFinite(executor_->gradient(variable));
  }
  return record;
}

// Only after the backward pass: a gradient that was sent cannot be taken back when a later one is
// not finite.
void Trainer::PushGradients(int64_t batch) {
  // It may wait until the ps have taken earlier gradients.
  activity_.Enter(proto::Activity::WAITING, batch);
  for (const int variable : gradients_) strategy_->OnGradient(variable);
}

absl::StatusOr<Strategy::StepStatus> Trainer::Step(const Assignment& assignment,
                                                   absl::FunctionRef<bool()> should_abandon) {
  if (recorder_ != nullptr) recorder_->set_batch(assignment.batch);
  const int64_t begin = recorder_ != nullptr ? SpanRecorder::Now() : 0;
  // The batch is loaded before the values are pulled: they would grow stale during a slow read.
  activity_.Enter(proto::Activity::READING, assignment.batch);
  CAIRN_ASSIGN_OR_RETURN(const LoadedBatch* const batch,
                         loader_->Get(assignment.batch, assignment.next, assignment.later));
  if (recorder_ != nullptr) recorder_->Add(kDataPhase, begin, SpanRecorder::Now());
  const LoadedBatch& loaded = *batch;
  load_times_ = loaded.times;
  activity_.Enter(proto::Activity::WAITING, assignment.batch);
  // Blocks until the values are fresh enough.
  CAIRN_ASSIGN_OR_RETURN(
      const Strategy::StepStatus status,
      strategy_->BeginStep({assignment.batch, loaded.examples, assignment.after_idle, recorder_},
                           should_abandon));
  if (status != Strategy::StepStatus::kOk) return status;
  activity_.Enter(proto::Activity::COMPUTING, assignment.batch);
  bool finite = true;
  CAIRN_ASSIGN_OR_RETURN(proto::BatchRecord record, Compute(loaded, &finite));
  if (!finite) {
    record.set_rejected(true);
    // Scans the whole batch, so only if there is a reason.
    record.set_data_not_finite(!loader_->IsFinite(loaded));
    if (on_rejected_ != nullptr) {
      on_rejected_(record);
      return status;
    }
  }
  const ScopedSpan span(recorder_, kPushPhase);
  if (finite) PushGradients(assignment.batch);
  activity_.Enter(proto::Activity::WAITING, assignment.batch);
  // The record goes with the end of the step: the batch may be applied as soon as EndStep is
  // called.
  CAIRN_RETURN_IF_ERROR(strategy_->EndStep(record));
  return status;
}

}  // namespace cairn::worker

#include "worker/evaluator.h"

#include <cmath>
#include <utility>

#include "common/failpoint.h"
#include "common/status_macros.h"
#include "worker/trainer.h"

namespace cairn::worker {

proto::EvaluatedBatch MakeEvaluatedBatch(uint64_t cut, int64_t batch,
                                         const nn::Executor::BatchResults& results) {
  proto::EvaluatedBatch result;
  result.set_cut(cut);
  result.set_batch(batch);
  result.set_examples(results.examples);
  result.set_loss_sum(results.loss_sum + results.penalty * static_cast<double>(results.examples));
  for (const std::vector<double>& state : results.metrics) {
    result.add_metric_states()->mutable_values()->Assign(state.begin(), state.end());
  }
  return result;
}

absl::StatusOr<std::unique_ptr<Evaluator>> Evaluator::Create(const proto::JobPlan& plan,
                                                             const JobModel& model,
                                                             const JobData& data, int threads,
                                                             nn::Device* device, Strategy* strategy,
                                                             Activity* activity) {
  std::unique_ptr<Evaluator> evaluator(new Evaluator(plan, data, strategy, activity));
  nn::Executor::Options options;
  options.batch_size = plan.batch_size();
  options.threads = threads;
  options.precision = model.precision;
  options.training = false;
  CAIRN_ASSIGN_OR_RETURN(
      evaluator->executor_,
      nn::Executor::Create(model.model.get(), &model.objective, options, device));
  return evaluator;
}

absl::StatusOr<proto::EvaluatedBatch> Evaluator::Evaluate(
    uint64_t cut, int64_t batch, absl::Span<const int64_t> next,
    absl::FunctionRef<bool()> should_abandon) {
  CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("worker.evaluate"));
  // All batches of a cut are usually evaluated in a row, so its values are loaded once.
  if (cut != cut_) {
    activity_.Enter(proto::Activity::WAITING, batch);
    cut_ = 0;  // A cut that fails to load leaves values of both cuts behind.
    CAIRN_RETURN_IF_ERROR(strategy_->LoadCut(cut, executor_.get(), should_abandon));
    cut_ = cut;
  }
  activity_.Enter(proto::Activity::READING, batch);
  CAIRN_ASSIGN_OR_RETURN(const LoadedBatch* const loaded, loader_.Get(batch, next));
  activity_.Enter(proto::Activity::COMPUTING, batch);
  CAIRN_ASSIGN_OR_RETURN(const nn::Executor::BatchResults results,
                         executor_->Forward(ExecutorBatch(*loaded, 0), false));
  proto::EvaluatedBatch result = MakeEvaluatedBatch(cut, batch, results);
  if (!std::isfinite(result.loss_sum())) result.set_data_not_finite(!loader_.IsFinite(*loaded));
  CAIRN_FAILPOINT("worker.evaluated").IgnoreError();
  return result;
}

}  // namespace cairn::worker

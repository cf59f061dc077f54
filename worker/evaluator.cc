#include "worker/evaluator.h"

#include <cmath>
#include <utility>

#include "common/status_macros.h"
#include "worker/trainer.h"

namespace cairn::worker {
namespace {

constexpr cluster::PsClient::Group kCutGroup = 3;

proto::EvaluatedBatch MakeResult(uint64_t cut, int64_t batch, const nn::Executor::Sums& sums) {
  proto::EvaluatedBatch result;
  result.set_cut(cut);
  result.set_batch(batch);
  result.set_examples(sums.examples);
  result.set_loss_sum(sums.loss_sum + sums.penalty * static_cast<double>(sums.examples));
  for (const std::vector<double>& state : sums.metrics) {
    result.add_metric_states()->mutable_values()->Assign(state.begin(), state.end());
  }
  return result;
}

}  // namespace

Evaluator::Evaluator(const proto::StartJob& job, BlockTable table,
                     std::shared_ptr<const Dataset> validation, cluster::PsClient* client)
    : job_id_(job.plan().job_id()),
      generation_(job.generation()),
      table_(std::move(table)),
      loader_(std::move(validation), BatchOrder::OfValidation(job.plan())),
      puller_(client, &table_, kCutGroup) {}

absl::StatusOr<std::unique_ptr<Evaluator>> Evaluator::Create(
    const proto::StartJob& job, const JobModel& model, std::shared_ptr<const Dataset> validation,
    int threads, nn::Device* device, cluster::PsClient* client) {
  CAIRN_ASSIGN_OR_RETURN(BlockTable table,
                         BlockTable::Create(job.plan().partition(), *model.model));
  std::unique_ptr<Evaluator> evaluator(
      new Evaluator(job, std::move(table), std::move(validation), client));
  nn::Executor::Options options;
  options.batch_size = job.plan().batch_size();
  options.threads = threads;
  options.training = false;
  CAIRN_ASSIGN_OR_RETURN(
      evaluator->executor_,
      nn::Executor::Create(model.model.get(), &model.objective, options, device));
  return evaluator;
}

absl::Status Evaluator::PullCut(uint64_t cut, absl::FunctionRef<bool()> should_abandon) {
  proto::PullHeader header;
  header.set_job_id(job_id_);
  header.set_generation(generation_);
  header.set_cut(cut);
  // A pull that fails leaves values of both cuts behind.
  cut_ = 0;
  const auto destination = [this](uint32_t id) {
    const BlockTable::Block& block = table_.block(id);
    return executor_->values(block.variable).subspan(block.offset, block.elements);
  };
  CAIRN_ASSIGN_OR_RETURN(const ValuePuller::Outcome outcome,
                         puller_.Pull(header, table_.all(), destination, should_abandon));
  if (outcome != ValuePuller::Outcome::kValues) return absl::CancelledError("evaluation given up");
  cut_ = cut;
  return absl::OkStatus();
}

absl::StatusOr<proto::EvaluatedBatch> Evaluator::Evaluate(
    uint64_t cut, int64_t batch, std::optional<int64_t> next,
    absl::FunctionRef<bool()> should_abandon) {
  // All batches of a cut are usually evaluated in a row, so its values are pulled once.
  if (cut != cut_) CAIRN_RETURN_IF_ERROR(PullCut(cut, should_abandon));
  CAIRN_ASSIGN_OR_RETURN(const LoadedBatch* const loaded, loader_.Get(batch, next));
  CAIRN_ASSIGN_OR_RETURN(const nn::Executor::Sums sums,
                         executor_->Forward(ExecutorBatch(*loaded, 0), false));
  proto::EvaluatedBatch result = MakeResult(cut, batch, sums);
  if (!std::isfinite(result.loss_sum())) result.set_data_not_finite(!loader_.IsFinite(*loaded));
  return result;
}

}  // namespace cairn::worker

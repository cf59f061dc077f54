#include "worker/inference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cluster/partition_map.h"
#include "cluster/variable_transfer.h"
#include "common/status_macros.h"
#include "worker/evaluator.h"
#include "worker/job_data.h"
#include "worker/trainer.h"

namespace cairn::worker {
namespace {

// Outputs: fewer examples if these are large, since all outputs of a batch are in one message.
constexpr int64_t kPredictionBatch = 256;
constexpr int64_t kPredictionBytes = int64_t{4} << 20;

// Of all outputs for one example.
int64_t OutputBytes(const nn::Model& model) {
  int64_t bytes = 0;
  for (const nn::Model::Output& output : model.outputs()) {
    int64_t elements = 1;
    for (const int64_t dimension : output.shape) elements *= dimension;
    bytes += elements * static_cast<int64_t>(sizeof(float));
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Inference>> Inference::Create(const proto::JobPlan& plan,
                                                             const Options& options,
                                                             nn::Device* device) {
  std::unique_ptr<Inference> inference(new Inference());
  inference->outputs_ = options.outputs;
  inference->activity_ = options.activity;
  std::shared_ptr<const Dataset> data;
  nn::Executor::Options executor;
  if (options.outputs) {
    CAIRN_ASSIGN_OR_RETURN(inference->model_.model, nn::Model::Create(plan.model()));
    CAIRN_ASSIGN_OR_RETURN(data, LoadInputs(plan, inference->model(), options.storage));
    const int64_t fit = kPredictionBytes / std::max<int64_t>(1, OutputBytes(inference->model()));
    executor.batch_size = std::min(data->examples(), std::clamp<int64_t>(fit, 1, kPredictionBatch));
  } else {
    CAIRN_ASSIGN_OR_RETURN(inference->model_, JobModel::Create(plan.job(), plan.model()));
    CAIRN_ASSIGN_OR_RETURN(const JobData loaded,
                           LoadJobData(plan, inference->model_, options.storage, /*train=*/false,
                                       /*validation=*/true, options.data_name));
    if (loaded.validation == nullptr) {
      return absl::InvalidArgumentError("the task names no data to evaluate on");
    }
    data = loaded.validation;
    executor.batch_size = plan.batch_size();
  }
  executor.threads = options.threads;
  executor.precision = PrecisionOf(plan.job());
  executor.training = false;
  inference->loader_order_ = {data->examples(), executor.batch_size};
  CAIRN_ASSIGN_OR_RETURN(
      inference->executor_,
      nn::Executor::Create(&inference->model(),
                           options.outputs ? nullptr : &inference->model_.objective, executor,
                           device));
  inference->loader_ = std::make_unique<BatchLoader>(
      data, BatchSampler(data->examples(), executor.batch_size, /*shuffle=*/false, /*seed=*/0));
  return inference;
}

int64_t Inference::batch_bytes() const {
  return outputs_ ? OutputBytes(model()) * batch_size() : 0;
}

absl::StatusOr<proto::InferredBatch> Inference::Compute(int64_t batch,
                                                        absl::Span<const int64_t> next) {
  if (batch < 0 || batch >= batches()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no batch ", batch, ": the data have ", batches()));
  }
  Enter(proto::Activity::READING, batch);
  CAIRN_ASSIGN_OR_RETURN(const LoadedBatch* const loaded, loader_->Get(batch, next));
  Enter(proto::Activity::COMPUTING, batch);
  CAIRN_ASSIGN_OR_RETURN(const nn::Executor::BatchResults results,
                         executor_->Forward(ExecutorBatch(*loaded, 0), /*training=*/false));
  proto::InferredBatch result;
  result.set_batch(batch);
  result.set_examples(loaded->examples);
  if (outputs_) return result;
  proto::EvaluatedBatch* evaluated = result.mutable_evaluated();
  *evaluated = MakeEvaluatedBatch(/*cut=*/0, batch, results);
  if (!std::isfinite(evaluated->loss_sum())) {
    evaluated->set_data_not_finite(!loader_->IsFinite(*loaded));
  }
  return result;
}

absl::Status LoadCheckpoint(const proto::InferenceRequest& request, const ClusterInfo& cluster,
                            Inference* inference) {
  const proto::PartitionMap& partition = request.checkpoint().partition();
  CAIRN_RETURN_IF_ERROR(cluster::ValidatePartitionMap(partition));
  std::map<std::string, int> places;
  for (int i = 0; i < partition.variables_size(); ++i) {
    places[partition.variables(i).name()] = i;
  }
  const std::string prefix = request.model().empty() ? "" : request.model() + "/";
  const std::vector<nn::VariableSpec>& variables = inference->model().variables();
  std::vector<int> place_of;
  for (const nn::VariableSpec& variable : variables) {
    const auto place = places.find(prefix + variable.name);
    if (place == places.end() ||
        cluster::VariableElements(partition.variables(place->second)) != variable.element_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat("checkpoint ", request.checkpoint().checkpoint(), " of job ",
                       request.plan().job_id(), " does not have ", variable.name));
    }
    place_of.push_back(place->second);
  }
  CAIRN_ASSIGN_OR_RETURN(
      const auto values,
      cluster::DownloadVariables({cluster.ps_addresses, cluster.cluster_id, cluster.task},
                                 request.plan().job_id(), partition, request.checkpoint()));
  for (size_t i = 0; i < variables.size(); ++i) {
    const std::vector<float>& from = values[place_of[i]];
    std::copy(from.begin(), from.end(), inference->values(static_cast<int>(i)).begin());
  }
  return absl::OkStatus();
}

}  // namespace cairn::worker

#include "worker/offline_evaluation.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/message_text.h"
#include "common/status_macros.h"
#include "nn/executor.h"
#include "nn/model.h"
#include "nn/objective.h"
#include "worker/data/batch_loader.h"
#include "worker/job_data.h"
#include "worker/job_model.h"
#include "worker/trainer.h"

namespace cairn::worker {
namespace {

constexpr int64_t kPredictionBatch = 256;

absl::Status LoadValues(const std::string& file, int variables, nn::Executor* executor) {
  std::ifstream stream(file, std::ios::binary);
  for (int i = 0; i < variables; ++i) {
    const absl::Span<float> values = executor->values(i);
    stream.read(reinterpret_cast<char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  if (stream && stream.peek() == std::ifstream::traits_type::eof()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(file, " does not hold the values of the model"));
}

// Writes output i of every example to stream i.
absl::Status WriteOutputs(const std::shared_ptr<const Dataset>& inputs, int64_t batch_size,
                          nn::Executor* executor, std::vector<std::ofstream>* streams) {
  const BatchSampler order(inputs->examples(), batch_size, /*shuffle=*/false, /*seed=*/0);
  BatchLoader loader(inputs, order);
  const int64_t batches = order.batches_per_pass();
  for (int64_t batch = 0; batch < batches; ++batch) {
    const bool is_last = batch + 1 == batches;
    CAIRN_ASSIGN_OR_RETURN(
        const LoadedBatch* const loaded,
        loader.Get(batch, is_last ? std::nullopt : std::optional<int64_t>(batch + 1)));
    CAIRN_RETURN_IF_ERROR(
        executor->Forward(ExecutorBatch(*loaded, 0), /*training=*/false).status());
    for (size_t i = 0; i < streams->size(); ++i) {
      CAIRN_ASSIGN_OR_RETURN(const absl::Span<const float> output,
                             executor->output(static_cast<int>(i)));
      (*streams)[i].write(reinterpret_cast<const char*>(output.data()),
                          static_cast<std::streamsize>(output.size() * sizeof(float)));
    }
  }
  return absl::OkStatus();
}

// As WriteOutputs, to files of these names.
template <typename Names>
absl::Status WriteOutputFiles(const std::shared_ptr<const Dataset>& inputs, int64_t batch_size,
                              nn::Executor* executor, const Names& names) {
  std::vector<std::ofstream> streams;
  for (const std::string& name : names) {
    streams.emplace_back(name, std::ios::binary | std::ios::trunc);
  }
  CAIRN_RETURN_IF_ERROR(WriteOutputs(inputs, batch_size, executor, &streams));
  for (size_t i = 0; i < streams.size(); ++i) {
    streams[i].close();
    if (streams[i]) continue;
    return absl::UnavailableError(absl::StrCat("cannot write ", names[static_cast<int>(i)]));
  }
  return absl::OkStatus();
}

std::vector<proto::EvaluationResult::Output> OutputsOf(const nn::Model& model, int64_t examples) {
  std::vector<proto::EvaluationResult::Output> outputs;
  for (const nn::Model::Output& output : model.outputs()) {
    proto::EvaluationResult::Output& one = outputs.emplace_back();
    one.set_name(output.name);
    one.add_shape(examples);
    one.mutable_shape()->Add(output.shape.begin(), output.shape.end());
  }
  return outputs;
}

// Sums loss and metric states over batches.
class Totals {
 public:
  // The objective must outlive it.
  explicit Totals(const nn::Objective& objective) : metrics_(objective.metrics()) {
    for (const auto& metric : metrics_) states_.emplace_back(metric.metric->state_size(), 0.0);
  }

  void Add(const nn::Executor::BatchResults& results) {
    examples_ += results.examples;
    loss_ += results.loss_sum + results.penalty * static_cast<double>(results.examples);
    for (size_t i = 0; i < states_.size(); ++i) {
      for (size_t j = 0; j < states_[i].size(); ++j) states_[i][j] += results.metrics[i][j];
    }
  }

  proto::EvaluationRecord Means() const {
    proto::EvaluationRecord record;
    record.set_examples(examples_);
    record.set_loss(examples_ > 0 ? loss_ / static_cast<double>(examples_) : 0);
    for (size_t i = 0; i < metrics_.size(); ++i) {
      record.add_metrics(metrics_[i].metric->Result(states_[i]));
    }
    return record;
  }

 private:
  const std::vector<nn::Objective::OutputMetric>& metrics_;
  int64_t examples_ = 0;
  double loss_ = 0;
  std::vector<std::vector<double>> states_;  // By metric.
};

}  // namespace

absl::StatusOr<proto::EvaluationRecord> EvaluateOffline(const proto::EvaluationTask& task,
                                                        int threads, nn::Device* device) {
  const proto::JobPlan& plan = task.plan();
  CAIRN_ASSIGN_OR_RETURN(const JobModel model, JobModel::Create(plan.job(), plan.model()));
  CAIRN_ASSIGN_OR_RETURN(const JobData data,
                         LoadJobData(plan, model, DataStorage::Options(),
                                     /*train=*/false, /*validation=*/true, task.data_name()));
  if (data.validation == nullptr) {
    return absl::InvalidArgumentError("the task names no data to evaluate on");
  }
  nn::Executor::Options options;
  options.batch_size = plan.batch_size();
  options.threads = threads;
  options.training = false;
  CAIRN_ASSIGN_OR_RETURN(
      const auto executor,
      nn::Executor::Create(model.model.get(), &model.objective, options, device));
  CAIRN_RETURN_IF_ERROR(LoadValues(
      task.values_file(), static_cast<int>(model.model->variables().size()), executor.get()));

  const BatchSampler order(data.validation->examples(), plan.batch_size(), /*shuffle=*/false,
                           /*seed=*/0);
  BatchLoader loader(data.validation, order);
  Totals totals(model.objective);
  const int64_t batches = order.batches_per_pass();
  for (int64_t batch = 0; batch < batches; ++batch) {
    const bool is_last = batch + 1 == batches;
    CAIRN_ASSIGN_OR_RETURN(
        const LoadedBatch* const loaded,
        loader.Get(batch, is_last ? std::nullopt : std::optional<int64_t>(batch + 1)));
    CAIRN_ASSIGN_OR_RETURN(const nn::Executor::BatchResults results,
                           executor->Forward(ExecutorBatch(*loaded, 0), /*training=*/false));
    totals.Add(results);
  }
  return totals.Means();
}

absl::StatusOr<std::vector<proto::EvaluationResult::Output>> PredictOffline(
    const proto::EvaluationTask& task, int threads, nn::Device* device) {
  const proto::JobPlan& plan = task.plan();
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(plan.model()));
  if (task.predictions_files_size() != static_cast<int>(model->outputs().size())) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", model->outputs().size(),
                                                   " outputs, the task has files for ",
                                                   task.predictions_files_size()));
  }
  CAIRN_ASSIGN_OR_RETURN(const auto inputs, LoadInputs(plan, *model, DataStorage::Options()));
  nn::Executor::Options options;
  options.batch_size = std::min<int64_t>(inputs->examples(), kPredictionBatch);
  options.threads = threads;
  options.training = false;
  CAIRN_ASSIGN_OR_RETURN(const auto executor,
                         nn::Executor::Create(model.get(), /*objective=*/nullptr, options, device));
  CAIRN_RETURN_IF_ERROR(
      LoadValues(task.values_file(), static_cast<int>(model->variables().size()), executor.get()));
  CAIRN_RETURN_IF_ERROR(
      WriteOutputFiles(inputs, options.batch_size, executor.get(), task.predictions_files()));
  return OutputsOf(*model, inputs->examples());
}

namespace {

absl::Status DoTask(const proto::EvaluationTask& task, int threads, nn::Device* device,
                    proto::EvaluationResult* result) {
  if (task.predictions_files().empty()) {
    CAIRN_ASSIGN_OR_RETURN(*result->mutable_record(), EvaluateOffline(task, threads, device));
    return absl::OkStatus();
  }
  CAIRN_ASSIGN_OR_RETURN(const auto outputs, PredictOffline(task, threads, device));
  result->mutable_outputs()->Assign(outputs.begin(), outputs.end());
  return absl::OkStatus();
}

}  // namespace

absl::Status RunEvaluationTask(const std::string& task_file, int threads, nn::Device* device) {
  proto::EvaluationTask task;
  std::ifstream stream(task_file, std::ios::binary);
  if (!stream || !task.ParseFromIstream(&stream)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--evaluate: ", task_file, " is not a task of cairn evaluate"));
  }
  proto::EvaluationResult result;
  const absl::Status done = DoTask(task, threads, device, &result);
  if (!done.ok()) result.set_error(std::string(done.message()));
  EscapeForeignText(&result);
  std::ofstream out(task.result_file(), std::ios::binary | std::ios::trunc);
  result.SerializeToOstream(&out);
  out.close();
  return out ? absl::OkStatus()
             : absl::UnavailableError(absl::StrCat("cannot write ", task.result_file()));
}

}  // namespace cairn::worker

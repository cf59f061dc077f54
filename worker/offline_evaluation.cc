#include "worker/offline_evaluation.h"

#include <fstream>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/message_text.h"
#include "common/status_macros.h"
#include "job/evaluation_totals.h"
#include "job/job_plan.h"
#include "worker/inference.h"
#include "worker/job_data.h"
#include "worker/job_inspection.h"

namespace cairn::worker {
namespace {

absl::Status LoadValues(const std::string& file, Inference* inference) {
  std::ifstream stream(file, std::ios::binary);
  for (size_t i = 0; i < inference->model().variables().size(); ++i) {
    const absl::Span<float> values = inference->values(static_cast<int>(i));
    stream.read(reinterpret_cast<char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
  }
  if (stream && stream.peek() == std::ifstream::traits_type::eof()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(file, " does not hold the values of the model"));
}

// Computes all batches, and calls `visit` after each.
absl::Status ComputeAll(Inference* inference,
                        absl::FunctionRef<absl::Status(const proto::InferredBatch&)> visit) {
  for (int64_t batch = 0; batch < inference->batches(); ++batch) {
    const bool is_last = batch + 1 == inference->batches();
    const std::vector<int64_t> next(is_last ? 0 : 1, batch + 1);
    CAIRN_ASSIGN_OR_RETURN(const proto::InferredBatch result, inference->Compute(batch, next));
    CAIRN_RETURN_IF_ERROR(visit(result));
  }
  return absl::OkStatus();
}

// Writes output i of every example to the file names[i].
template <typename Names>
absl::Status WriteOutputFiles(Inference* inference, const Names& names) {
  std::vector<std::ofstream> streams;
  for (const std::string& name : names) {
    streams.emplace_back(name, std::ios::binary | std::ios::trunc);
  }
  CAIRN_RETURN_IF_ERROR(ComputeAll(inference, [&](const proto::InferredBatch&) {
    for (size_t i = 0; i < streams.size(); ++i) {
      CAIRN_ASSIGN_OR_RETURN(const absl::Span<const float> output,
                             inference->output(static_cast<int>(i)));
      streams[i].write(reinterpret_cast<const char*>(output.data()),
                       static_cast<std::streamsize>(output.size() * sizeof(float)));
    }
    return absl::OkStatus();
  }));
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

}  // namespace

absl::StatusOr<proto::EvaluationRecord> EvaluateOffline(const proto::EvaluationTask& task,
                                                        int threads, nn::Device* device) {
  Inference::Options options;
  options.threads = threads;
  options.data_name = task.data_name();
  CAIRN_ASSIGN_OR_RETURN(const auto inference, Inference::Create(task.plan(), options, device));
  CAIRN_RETURN_IF_ERROR(LoadValues(task.values_file(), inference.get()));
  job::EvaluationTotals totals(inference->objective());
  CAIRN_RETURN_IF_ERROR(ComputeAll(inference.get(), [&](const proto::InferredBatch& batch) {
    totals.Add(batch.evaluated());
    return absl::OkStatus();
  }));
  return totals.Means();
}

absl::StatusOr<std::vector<proto::EvaluationResult::Output>> PredictOffline(
    const proto::EvaluationTask& task, int threads, nn::Device* device) {
  Inference::Options options;
  options.outputs = true;
  options.threads = threads;
  CAIRN_ASSIGN_OR_RETURN(const auto inference, Inference::Create(task.plan(), options, device));
  if (task.predictions_files_size() != static_cast<int>(inference->model().outputs().size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has ", inference->model().outputs().size(),
                     " outputs, the task has files for ", task.predictions_files_size()));
  }
  CAIRN_RETURN_IF_ERROR(LoadValues(task.values_file(), inference.get()));
  CAIRN_RETURN_IF_ERROR(WriteOutputFiles(inference.get(), task.predictions_files()));
  return OutputsOf(inference->model(), inference->examples());
}

absl::StatusOr<proto::JobPlan> InspectOffline(const proto::EvaluationTask& task) {
  proto::Inspect inspect;
  *inspect.mutable_job() = task.plan().job();
  *inspect.mutable_model() = task.plan().model();
  const proto::InspectReply reply = InspectJob(inspect, DataStorage::Options());
  if (!reply.error().empty()) return absl::InvalidArgumentError(reply.error());
  proto::JobRecord record;
  *record.mutable_job() = task.plan().job();
  *record.mutable_model() = task.plan().model();
  *record.mutable_partition() = task.plan().partition();
  return job::MakeJobPlan(record, reply);
}

namespace {

absl::Status DoTask(const proto::EvaluationTask& task, int threads, nn::Device* device,
                    proto::EvaluationResult* result) {
  if (task.inspects()) {
    CAIRN_ASSIGN_OR_RETURN(*result->mutable_plan(), InspectOffline(task));
    return absl::OkStatus();
  }
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

#include "cli/model/cluster_inference.h"

#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/model/uploaded_model.h"
#include "common/status_macros.h"
#include "common/version.h"
#include "job/job_objective.h"

namespace cairn::cli {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(1);
constexpr absl::Duration kTryAgain = absl::Milliseconds(500);

int64_t ElementsOf(const nn::Model::Output& output) {
  int64_t elements = 1;
  for (const int64_t dimension : output.shape) elements *= dimension;
  return elements;
}

void AppendFloats(const std::string& bytes, std::vector<float>* values) {
  const size_t count = bytes.size() / sizeof(float);
  if (count == 0) return;
  values->resize(values->size() + count);
  std::memcpy(values->data() + values->size() - count, bytes.data(), count * sizeof(float));
}

proto::InferenceRequest MakeRequest(const TrainedModel& trained, const std::string& data_name,
                                    bool outputs) {
  proto::InferenceRequest request;
  request.set_client_version(kVersion);
  *request.mutable_plan() = trained.plan;
  *request.mutable_checkpoint() = trained.checkpoint;
  if (!trained.checkpoint.has_partition()) {
    *request.mutable_checkpoint()->mutable_partition() = trained.plan.partition();
  }
  request.set_model(trained.part);
  request.set_outputs(outputs);
  request.set_data_name(data_name);
  return request;
}

// Calls the coordinator until all results are there.
absl::Status Collect(proto::InferenceRequest request, const ClusterInferenceOptions& options,
                     InferenceResults* results) {
  const RealClock real_clock;
  const Clock& clock = options.clock != nullptr ? *options.clock : real_clock;
  // When the last call broke that had reached the coordinator. The time before it does not count: a
  // batch may take long.
  std::optional<absl::Duration> broken_at;
  std::string waiting_for;  // As the user was told last.
  while (true) {
    request.set_first_batch(results->next_batch());
    if (results->next_batch() > 0) request.set_data_fingerprint(results->data_fingerprint());
    bool connected = false;
    const absl::Status status =
        options.coordinator->Infer(request, [&](const proto::InferenceChunk& chunk) {
          connected = true;
          if (options.err != nullptr) {
            for (const std::string& note : chunk.notes()) *options.err << note << std::endl;
            // A wait that begins again is no news.
            if (!chunk.waiting_for().empty() && chunk.waiting_for() != waiting_for) {
              waiting_for = chunk.waiting_for();
              *options.err << "waiting " << waiting_for << std::endl;
            }
          }
          return results->Add(chunk);
        });
    if (status.ok() && results->complete()) return status;
    if (status.ok()) return absl::InternalError("the coordinator ended before all results came");
    // A coordinator that is stopped cancels its calls. One that was restarted may have many
    // requests at once: the results so far are worth another try.
    const bool is_busy = absl::IsResourceExhausted(status) && !connected && broken_at.has_value();
    if (!absl::IsUnavailable(status) && !absl::IsCancelled(status) && !is_busy) return status;
    if (connected || !broken_at.has_value()) broken_at = clock.Now();
    if (clock.Now() - *broken_at >= kPatience) return status;
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(kTryAgain));
  }
}

}  // namespace

absl::Status InferenceResults::Add(const proto::InferenceChunk& chunk) {
  if (examples_ == 0) {
    examples_ = chunk.examples();
  } else if (chunk.examples() != 0 && chunk.examples() != examples_) {
    return absl::DataLossError(absl::StrCat("the data have ", chunk.examples(),
                                            " examples now and had ", examples_,
                                            "; they must not change"));
  }
  if (chunk.data_fingerprint() != 0) data_fingerprint_ = chunk.data_fingerprint();
  for (const proto::InferredBatch& batch : chunk.batches()) {
    CAIRN_RETURN_IF_ERROR(AddBatch(batch));
  }
  return absl::OkStatus();
}

absl::Status InferenceResults::AddBatch(const proto::InferredBatch& batch) {
  if (batch.batch() != next_batch_ || batch.examples() < 1 ||
      batch.examples() > examples_ - done_) {
    return absl::DataLossError(absl::StrCat("batch ", batch.batch(), " with ", batch.examples(),
                                            " examples came in place of batch ", next_batch_));
  }
  if (totals_ != nullptr) {
    if (batch.evaluated().examples() != batch.examples() || !totals_->Add(batch.evaluated())) {
      return absl::DataLossError(
          absl::StrCat("batch ", batch.batch(), " does not have the job's metrics"));
    }
  } else {
    const auto& model_outputs = model_.outputs();
    bool fits = batch.outputs_size() == static_cast<int>(model_outputs.size());
    for (int i = 0; fits && i < batch.outputs_size(); ++i) {
      fits = batch.outputs(i).size() ==
             static_cast<size_t>(batch.examples() * ElementsOf(model_outputs[i])) * sizeof(float);
    }
    if (!fits) {
      return absl::DataLossError(
          absl::StrCat("batch ", batch.batch(), " does not have the model's outputs"));
    }
    for (int i = 0; i < batch.outputs_size(); ++i) AppendFloats(batch.outputs(i), &(*outputs_)[i]);
  }
  done_ += batch.examples();
  ++next_batch_;
  return absl::OkStatus();
}

absl::StatusOr<proto::EvaluationResult> RunOnCluster(const TrainedModel& trained,
                                                     const ClusterInferenceOptions& options,
                                                     std::vector<std::vector<float>>* outputs) {
  if (!trained.file.empty()) {
    CAIRN_ASSIGN_OR_RETURN(const auto uploaded,
                           UploadedModel::Create(options.coordinator, trained));
    return RunOnCluster(uploaded->model(), options, outputs);
  }
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(trained.plan.model()));
  proto::InferenceRequest request = MakeRequest(trained, options.data_name, outputs != nullptr);
  proto::EvaluationResult result;
  if (outputs == nullptr) {
    CAIRN_ASSIGN_OR_RETURN(const nn::Objective objective,
                           job::CreateObjective(trained.plan.job(), *model));
    job::EvaluationTotals totals(objective);
    InferenceResults results(model.get(), &totals, nullptr);
    CAIRN_RETURN_IF_ERROR(Collect(std::move(request), options, &results));
    *result.mutable_record() = totals.Means();
    return result;
  }
  outputs->assign(model->outputs().size(), {});
  InferenceResults results(model.get(), nullptr, outputs);
  CAIRN_RETURN_IF_ERROR(Collect(std::move(request), options, &results));
  for (const nn::Model::Output& output : model->outputs()) {
    proto::EvaluationResult::Output* described = result.add_outputs();
    described->set_name(output.name);
    described->add_shape(results.examples());
    for (const int64_t dimension : output.shape) described->add_shape(dimension);
  }
  return result;
}

}  // namespace cairn::cli

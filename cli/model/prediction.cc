#include "cli/model/prediction.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/npy.h"
#include "common/status_macros.h"
#include "nn/create_device.h"
#include "nn/data/preprocessing.h"
#include "nn/executor.h"
#include "nn/model.h"

namespace cairn::cli {
namespace {

constexpr int64_t kBatchSize = 256;

// One of the model's inputs, decoded: floats or ints, both of four bytes.
struct Input {
  std::vector<float> floats;
  std::vector<int32_t> integers;
  int64_t examples = 0;
  int64_t example_elements = 0;

  const void* Example(int64_t index) const {
    const int64_t at = index * example_elements;
    return integers.empty() ? static_cast<const void*>(floats.data() + at)
                            : static_cast<const void*>(integers.data() + at);
  }
};

// Whether examples of the file are the model's; a last axis of 1 may be absent from the file.
bool IsShapeOf(absl::Span<const int64_t> example, const nn::Shape& wanted) {
  if (example == absl::MakeConstSpan(wanted)) return true;
  return !wanted.empty() && wanted.back() == 1 &&
         example == absl::MakeConstSpan(wanted).first(wanted.size() - 1);
}

absl::StatusOr<Input> DecodeInput(const nn::Model::Input& wanted, const std::string& file,
                                  const nn::Preprocessing& preprocessing) {
  CAIRN_ASSIGN_OR_RETURN(const NpyHeader header, ParseNpyHeader(file, file.size()));
  if (header.shape.empty() ||
      !IsShapeOf(absl::MakeConstSpan(header.shape).subspan(1), wanted.spec.shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat("its shape is ", nn::ShapeText(header.shape), ", the model's input ",
                     wanted.name, " wants examples of shape ", nn::ShapeText(wanted.spec.shape)));
  }
  Input input;
  input.examples = header.shape[0];
  input.example_elements = nn::ElementCount(wanted.spec.shape);
  const auto bytes = std::string_view(file).substr(header.data_offset);
  if (wanted.spec.type == proto::INT32) {
    input.integers.resize(header.element_count());
    CAIRN_RETURN_IF_ERROR(DecodeNpyAsInt32(header, bytes, absl::MakeSpan(input.integers)));
    return input;
  }
  input.floats.resize(header.element_count());
  CAIRN_RETURN_IF_ERROR(DecodeNpyAsFloat(header, bytes, absl::MakeSpan(input.floats)));
  preprocessing.Apply(absl::MakeSpan(input.floats));
  return input;
}

absl::StatusOr<std::vector<Input>> DecodeInputs(const nn::Model& model,
                                                const std::vector<std::string>& files,
                                                const std::vector<std::string>& names,
                                                const proto::DataSource& source,
                                                const proto::DataPlan& plan) {
  if (files.size() != model.inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the model has ", model.inputs().size(),
                                                   " inputs, and --input is there ", files.size(),
                                                   " times; say it once for each, in their order"));
  }
  std::vector<Input> inputs;
  for (size_t i = 0; i < files.size(); ++i) {
    auto input = DecodeInput(model.inputs()[i], files[i],
                             nn::Preprocessing(source, plan, model, static_cast<int>(i)));
    if (!input.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(names[i], ": ", std::string(input.status().message())));
    }
    if (input->examples != (inputs.empty() ? input->examples : inputs[0].examples)) {
      return absl::InvalidArgumentError(absl::StrCat(names[i], " has ", input->examples,
                                                     " examples, ", names[0], " has ",
                                                     inputs[0].examples));
    }
    inputs.push_back(*std::move(input));
  }
  return inputs;
}

// The plan's variables are the model's, in its order.
absl::Status LoadValues(const TrainedModel& trained, const nn::Model& model,
                        nn::Executor* executor) {
  if (trained.variables.size() != model.variables().size()) {
    return absl::DataLossError("the checkpoint's variables are not the model's");
  }
  for (int i = 0; i < static_cast<int>(trained.variables.size()); ++i) {
    const absl::Span<float> values = executor->values(i);
    if (values.size() != trained.variables[i].size()) {
      return absl::DataLossError(absl::StrCat("the checkpoint's values of ",
                                              model.variables()[i].name, " are not the model's"));
    }
    std::copy(trained.variables[i].begin(), trained.variables[i].end(), values.begin());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Prediction>> Predict(const TrainedModel& trained,
                                                const std::vector<std::string>& npy_files,
                                                const std::vector<std::string>& names,
                                                double scale) {
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(trained.plan.model()));
  proto::DataSource source;
  source.set_scale(scale);
  CAIRN_ASSIGN_OR_RETURN(const auto inputs,
                         DecodeInputs(*model, npy_files, names, source, trained.plan.data()));
  CAIRN_ASSIGN_OR_RETURN(const auto device, nn::CreateDevice("cpu"));
  const int64_t examples = inputs[0].examples;
  nn::Executor::Options options;
  options.batch_size = std::clamp<int64_t>(examples, 1, kBatchSize);
  options.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  options.training = false;
  CAIRN_ASSIGN_OR_RETURN(
      const auto executor,
      nn::Executor::Create(model.get(), /*objective=*/nullptr, options, device.get()));
  CAIRN_RETURN_IF_ERROR(LoadValues(trained, *model, executor.get()));

  std::vector<Prediction> predictions;
  for (const nn::Model::Output& output : model->outputs()) {
    Prediction& prediction = predictions.emplace_back();
    prediction.output = output.name;
    prediction.shape = {examples};
    prediction.shape.insert(prediction.shape.end(), output.shape.begin(), output.shape.end());
  }
  for (int64_t begin = 0; begin < examples; begin += options.batch_size) {
    nn::Executor::Batch batch;
    batch.size = std::min(options.batch_size, examples - begin);
    for (const Input& input : inputs) batch.inputs.push_back(input.Example(begin));
    CAIRN_RETURN_IF_ERROR(executor->Forward(batch, /*training=*/false).status());
    for (size_t i = 0; i < predictions.size(); ++i) {
      const auto output = executor->output(static_cast<int>(i));
      std::vector<float>& values = predictions[i].values;
      values.insert(values.end(), output.begin(), output.end());
    }
  }
  return predictions;
}

}  // namespace cairn::cli

#include <cmath>
#include <limits>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/files.h"
#include "cli/model/prediction.h"
#include "cli/model/trained_model.h"
#include "common/npy.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

struct PredictFlags : CommonFlags {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  CheckpointChoice checkpoint;
  double scale = std::numeric_limits<double>::quiet_NaN();  // Not said.
};

absl::Status WriteNpy(const std::string& file, const Prediction& prediction) {
  NpyHeader header;
  header.shape = prediction.shape;
  std::string bytes = FormatNpyHeader(header);
  bytes.append(reinterpret_cast<const char*>(prediction.values.data()),
               prediction.values.size() * sizeof(float));
  return WriteFile(file, bytes);
}

// As the job reads its own data: of what it was validated on, if it was.
double ScaleOf(const PredictFlags& flags, const proto::Job& job) {
  if (!std::isnan(flags.scale)) return flags.scale;
  const proto::DataSource& data = job.has_validation() ? job.validation() : job.train();
  return data.has_scale() ? data.scale() : 1;
}

// One file for each of the model's outputs.
absl::Status CheckOutputs(const std::vector<std::string>& files, const proto::ModelSpec& model) {
  if (static_cast<int>(files.size()) == model.outputs_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the model has ", model.outputs_size(), " outputs (", absl::StrJoin(model.outputs(), ", "),
      "), and --output is there ", files.size(), " times; say it once for each, in their order"));
}

nlohmann::ordered_json Json(const Prediction& prediction, const std::string& file) {
  return {{"name", prediction.output}, {"shape", prediction.shape}, {"output", file}};
}

absl::StatusOr<int> PredictFiles(const PredictFlags& flags, const CommandContext& context) {
  std::vector<std::string> files;
  for (const std::string& name : flags.inputs) {
    CAIRN_ASSIGN_OR_RETURN(files.emplace_back(), ReadFile(name));
  }
  CAIRN_ASSIGN_OR_RETURN(const FoundSource found, FindSource(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const TrainedModel model,
                         ReadTrainedModel(found.source.get(), flags.job, flags.checkpoint));
  CAIRN_RETURN_IF_ERROR(CheckOutputs(flags.outputs, model.plan.model()));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Prediction> predictions,
                         Predict(model, files, flags.inputs, ScaleOf(flags, model.plan.job())));
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < predictions.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(WriteNpy(flags.outputs[i], predictions[i]));
    outputs.push_back(Json(predictions[i], flags.outputs[i]));
  }
  if (flags.json) {
    nlohmann::ordered_json line = {{"job", model.plan.job_id()},
                                   {"checkpoint", model.checkpoint.checkpoint()}};
    if (outputs.size() == 1) {
      line["shape"] = outputs[0]["shape"];
      line["output"] = outputs[0]["output"];
    } else {
      line["outputs"] = outputs;
    }
    *context.out << line.dump() << "\n";
  } else {
    *context.out << "wrote " << predictions[0].shape[0] << " predictions of checkpoint "
                 << model.checkpoint.checkpoint() << " to " << absl::StrJoin(flags.outputs, ", ")
                 << "\n";
  }
  return kExitDone;
}

}  // namespace

Command MakePredictCommand() {
  auto flags = std::make_shared<PredictFlags>();
  Command command;
  command.name = "predict";
  command.description = "Run a trained model on .npy files, on this machine";
  command.details =
      "Inputs are prepared as the job prepares its own data: multiplied by the \"scale\" of its "
      "validation data (or, without any, its training data) unless --scale says otherwise, and "
      "standardized if they were.";
  command.examples = {
      "cairn predict fashion_mnist_cnn --input x.npy --output y.npy",
      "cairn predict fashion_mnist_cnn --input x.npy --output y.npy --checkpoint 7"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    set->AddRequiredStrings(
        "--input FILE", &flags->inputs,
        "A .npy file, examples first; once for each of the model's inputs, in order");
    set->AddRequiredStrings(
        "--output FILE", &flags->outputs,
        "The .npy file to write; once for each of the model's outputs, in order");
    set->AddNumber(
        "--scale X", &flags->scale,
        "Multiply every input by this [the \"scale\" of the job's validation or training data]");
    set->AddId("--checkpoint N", &flags->checkpoint.checkpoint,
               "Which checkpoint's values [the job's result: the newest's]");
    set->AddBool("--best", &flags->checkpoint.best, "The checkpoint with the best monitored value");
    set->Exclude("--best", "--checkpoint");
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return PredictFiles(*flags, context); };
  return command;
}

}  // namespace cairn::cli

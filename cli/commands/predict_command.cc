#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands/command.h"
#include "cli/commands/model_flags.h"
#include "cli/model/job_files.h"
#include "cli/model/prediction.h"
#include "cli/model/prediction_file.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/data_url.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

struct PredictFlags : ModelFlags {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  double scale = std::numeric_limits<double>::quiet_NaN();  // Not given.
  std::string rows;
};

// The rows "FIRST:END".
absl::StatusOr<std::pair<int64_t, int64_t>> ParseRows(const std::string& text) {
  const std::pair<std::string, std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  int64_t first = 0;
  int64_t end = 0;
  if (absl::SimpleAtoi(parts.first, &first) && absl::SimpleAtoi(parts.second, &end) && first >= 0 &&
      end > first) {
    return std::pair(first, end);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--rows: ", text, " are no rows; say the first and the one after the last: 0:100"));
}

absl::StatusOr<PredictionInput> InputOf(const PredictFlags& flags) {
  PredictionInput input;
  for (const std::string& file : flags.inputs) {
    // The workers of a cluster have other working directories.
    const bool is_relative = flags.on == "cluster" && !job::IsDataUrl(file);
    input.files.push_back(is_relative ? std::filesystem::absolute(file).string() : file);
  }
  if (!std::isnan(flags.scale)) input.scale = flags.scale;
  if (!flags.rows.empty()) {
    CAIRN_ASSIGN_OR_RETURN(input.rows, ParseRows(flags.rows));
  }
  return input;
}

// Checks that there is one file for each output of the model.
absl::Status CheckOutputs(const std::vector<std::string>& files, const proto::ModelSpec& model) {
  if (static_cast<int>(files.size()) == model.outputs_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the model has ", Plural(model.outputs_size(), "output"), " (",
                   absl::StrJoin(model.outputs(), ", "), "), and --output is given ",
                   Plural(static_cast<int64_t>(files.size()), "time"),
                   "; give it once for each output, in this order"));
}

bool IsOneFile(const std::string& one, const std::string& other) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  // Several outputs may go to /dev/null.
  if (fs::exists(one, ignored) && !fs::is_regular_file(one, ignored)) return false;
  return fs::weakly_canonical(fs::absolute(one), ignored) ==
             fs::weakly_canonical(fs::absolute(other), ignored) ||
         fs::equivalent(one, other, ignored);
}

// Checks that no output overwrites an input, a file of the job or another output.
absl::Status CheckOverwrites(const PredictFlags& flags, const proto::Job& job) {
  std::vector<ReadFileName> read = FilesOfJob(job);
  for (const std::string& input : flags.inputs) read.push_back({input, "--input"});
  for (size_t i = 0; i < flags.outputs.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(CheckOverwritesNone("--output", flags.outputs[i], read));
    for (size_t j = 0; j < i; ++j) {
      if (!IsOneFile(flags.outputs[j], flags.outputs[i])) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("--output: ", flags.outputs[j], " and ", flags.outputs[i],
                       " are the same file; give one for each output"));
    }
  }
  return absl::OkStatus();
}

nlohmann::ordered_json Json(const Prediction& prediction, const std::string& file) {
  return {{"name", prediction.output}, {"shape", prediction.shape}, {"output", file}};
}

absl::StatusOr<int> PredictFiles(const PredictFlags& flags, const CommandContext& context) {
  for (const std::string& file : flags.outputs) {
    CAIRN_RETURN_IF_ERROR(CheckPredictionFile("--output", file));
  }
  CAIRN_ASSIGN_OR_RETURN(const PredictionInput input, InputOf(flags));
  CAIRN_ASSIGN_OR_RETURN(ChosenModel chosen, flags.ChooseModel(context, {}));
  TrainedModel& model = chosen.model;
  const proto::Job job = model.plan.job();
  CAIRN_RETURN_IF_ERROR(SelectModel(flags.model, &model));
  CAIRN_RETURN_IF_ERROR(CheckOutputs(flags.outputs, model.plan.model()));
  CAIRN_RETURN_IF_ERROR(CheckOverwrites(flags, job));
  CAIRN_ASSIGN_OR_RETURN(const std::vector<Prediction> predictions,
                         Predict(model, input, chosen.place));
  nlohmann::ordered_json outputs = nlohmann::ordered_json::array();
  for (size_t i = 0; i < predictions.size(); ++i) {
    CAIRN_RETURN_IF_ERROR(WritePrediction(flags.outputs[i], predictions[i]));
    outputs.push_back(Json(predictions[i], flags.outputs[i]));
  }
  if (flags.json) {
    nlohmann::ordered_json line = OriginJson(model);
    if (outputs.size() == 1) {
      line["shape"] = outputs[0]["shape"];
      line["output"] = outputs[0]["output"];
    } else {
      line["outputs"] = outputs;
    }
    *context.out << line.dump() << "\n";
  } else {
    *context.out << "wrote " << Plural(predictions[0].shape[0], "prediction") << " of "
                 << (model.file.empty() ? absl::StrCat("checkpoint ", model.checkpoint.checkpoint())
                                        : model.file)
                 << " to " << absl::StrJoin(flags.outputs, ", ") << "\n";
  }
  return kExitDone;
}

}  // namespace

Command MakePredictCommand() {
  auto flags = std::make_shared<PredictFlags>();
  Command command;
  command.name = "predict";
  command.description = "Run a trained model, of a job or of a file, on data files";
  command.details =
      "An input file that ends in .npy is a NumPy array. Any other has the format of the job's "
      "validation data, or of its training data if there are none: csv with the same columns "
      "(label columns may be absent), idx, CIFAR, tfrecord, npz, parquet, text; a folder stands "
      "for the images, .parquet or .txt files in it at any depth, sorted by folder and name. "
      "Inputs are prepared like the data of the job: "
      "multiplied by \"scale\" unless --scale is given, standardized, texts looked up in the "
      "vocabularies. An output file that ends in .npy is a NumPy array with one entry for each "
      "example. One that ends in .csv has a header and one line for each example; its columns are "
      "named after the output and the class number: kind_0, kind_1. A model file, which was "
      "exported "
      "or comes from elsewhere, needs no cluster and no job; its inputs are .npy files, or what "
      "--job_file describes.";
  command.examples = {"cairn predict fashion_mnist_cnn --input x.npy --output y.npy",
                      "cairn predict fashion_mnist_cnn --input x.npy --output y.npy --checkpoint 7",
                      "cairn predict people --input 'new-*.csv' --output y.csv",
                      "cairn predict people --input new.csv --output y.csv --on cluster",
                      "cairn predict trained.keras --input x.npy --output y.npy --scale 0.00392"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJobOrFile(set);
    set->AddRequiredStrings(
        "--input FILE", &flags->inputs,
        "Data file, folder of images, or pattern. Once for each input of the model");
    set->AddRequiredStrings("--output FILE", &flags->outputs,
                            "The .npy or .csv file to write. Once for each output of the model");
    set->AddNumber("--scale X", &flags->scale,
                   "Factor of all inputs [\"scale\" of the job's validation or training data]");
    set->AddString("--rows FIRST:END", &flags->rows,
                   "Only the rows from FIRST, counted from 0, to the one before END [all]");
    flags->AddPlace(set);
    flags->AddModel(set);
    flags->AddCheckpoint(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return PredictFiles(*flags, context); };
  return command;
}

}  // namespace cairn::cli

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/model_flags.h"
#include "cli/job_file.h"
#include "cli/model/evaluation.h"
#include "cli/progress_text.h"
#include "cli/status_json.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/data_url.h"
#include "job/job_outputs.h"
#include "job/model_objectives.h"
#include "nn/model.h"

namespace cairn::cli {
namespace {

struct EvaluateFlags : ModelFlags {
  std::string data = "validation";
};

// Makes the chosen data the plan's validation data.
// The workers of a cluster need absolute paths.
absl::Status ChooseData(const std::string& data, bool on_cluster, const std::string& title,
                        proto::JobPlan* plan) {
  proto::Job* job = plan->mutable_job();
  if (data == "validation") {
    if (plan->validation_examples() > 0) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        title, " has no validation data; name others with --data: train, a file, or JSON"));
  }
  // The plan describes the files that were inspected, not the ones that are evaluated now.
  job->clear_validation_fraction();
  job->clear_validation_steps();
  plan->mutable_data()->clear_validation_files();
  plan->mutable_data()->clear_validation_index();
  plan->mutable_data()->clear_validation_mix();
  plan->mutable_data()->clear_validation_zip();
  if (data == "train") {
    *job->mutable_validation() = job->train();
    return absl::OkStatus();
  }
  const bool is_json = data.empty() || data[0] == '{';
  const bool is_relative = !is_json && !job::IsDataUrl(data);
  const std::string file =
      on_cluster && is_relative ? std::filesystem::absolute(data).string() : data;
  CAIRN_ASSIGN_OR_RETURN(*job->mutable_validation(), ReadDataSource(file, job->train()));
  CAIRN_ASSIGN_OR_RETURN(const auto model, nn::Model::Create(plan->model()));
  return job::ResolveLabels("--data", *model, job->mutable_validation());
}

absl::StatusOr<int> EvaluateJob(const EvaluateFlags& flags, const CommandContext& context) {
  FileModelOptions file_options;
  file_options.evaluates = true;
  file_options.reads_validation = flags.data == "validation";
  CAIRN_ASSIGN_OR_RETURN(ChosenModel chosen, flags.ChooseModel(context, file_options));
  InferencePlace& place = chosen.place;
  TrainedModel& model = chosen.model;
  if (job::HasModels(model.plan.job())) {
    return absl::FailedPreconditionError(
        "a job of several models does not evaluate; cairn predict --model NAME computes outputs");
  }
  if (flags.data == "train" && !model.has_train) {
    return absl::InvalidArgumentError("--data train: the job file of --job_file has no \"train\"");
  }
  CAIRN_RETURN_IF_ERROR(ChooseData(flags.data, place.on_cluster(), model.Title(), &model.plan));
  // Errors about the job's own validation data name its field in the job file.
  if (flags.data != "validation") {
    place.machine.data_name = flags.data == "train" ? "--data train" : "--data";
    place.cluster.data_name = place.machine.data_name;
  }
  CAIRN_ASSIGN_OR_RETURN(const proto::EvaluationRecord record, Evaluate(model, place));
  const auto& names = model.plan.job().metrics();
  if (flags.json) {
    nlohmann::ordered_json line = OriginJson(model);
    line["data"] = flags.data;
    const nlohmann::ordered_json evaluation = EvaluationJson(record, names);
    for (const auto& [key, value] : evaluation.items()) {
      if (key != "epoch") line[key] = value;
    }
    *context.out << line.dump() << "\n";
  } else {
    if (model.file.empty()) {
      *context.out << "checkpoint " << model.checkpoint.checkpoint() << " of ";
    }
    *context.out << model.Title() << ": " << EvaluationText(record, names) << "  ("
                 << Plural(record.examples(), "example") << ")\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeEvaluateCommand() {
  auto flags = std::make_shared<EvaluateFlags>();
  Command command;
  command.name = "evaluate";
  command.description = "Compute loss and metrics of a trained model, of a job or of a file";
  command.details =
      "Each example counts once, as in the evaluation at the end of an epoch. The data files are "
      "read on this machine, or with --on cluster by the workers. --data is one of: validation or "
      "train (the data of the job; train includes the rows of validation_fraction); a file (.csv "
      "if the job trains from csv, .tfrecord, .npz, .parquet, .txt, .bin for cifar10 and cifar100) "
      "or a folder (if it trains from images, parquet or text), which is read like the training "
      "data; a JSON "
      "object like \"validation\" in a job file, or a file with one. A model file needs no job, "
      "but "
      "losses, metrics and data as a job file has them: --job_file.";
  command.examples = {
      "cairn evaluate fashion_mnist_cnn",
      "cairn evaluate fashion_mnist_cnn --checkpoint 3 --json",
      "cairn evaluate people --data test.csv",
      "cairn evaluate people --data train --on cluster",
      R"(cairn evaluate 1 --data '{"npy": {"features": "x.npy", "labels": "y.npy"}}')",
      "cairn evaluate trained.keras --job_file job.json --data test.csv"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJobOrFile(set);
    set->AddString("--data SOURCE", &flags->data, "The data to evaluate on [validation]");
    flags->AddPlace(set);
    flags->AddCheckpoint(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return EvaluateJob(*flags, context); };
  return command;
}

}  // namespace cairn::cli

#ifndef CAIRN_CLI_COMMANDS_MODEL_FLAGS_H_
#define CAIRN_CLI_COMMANDS_MODEL_FLAGS_H_

#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/job_file.h"
#include "cli/model/file_model.h"
#include "cli/model/inference_place.h"
#include "cli/model/trained_model.h"
#include "cluster/programs.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {

// A trained model, and where it is computed.
struct ChosenModel {
  FoundSource found;  // Of a job's model.
  std::unique_ptr<CoordinatorApi> api;
  InferencePlace place;
  TrainedModel model;
};

// Where the values are from, for reports.
inline nlohmann::ordered_json OriginJson(const TrainedModel& model) {
  nlohmann::ordered_json json;
  if (model.file.empty()) {
    json["job"] = model.plan.job_id();
    json["checkpoint"] = model.checkpoint.checkpoint();
  } else {
    json["file"] = model.file;
  }
  return json;
}

// Flags of commands that read a trained model.
struct ModelFlags : CommonFlags {
  CheckpointChoice checkpoint;

  // The model of a job of several.
  std::string model;

  // Where it is computed.
  std::string on = "machine";

  // Describes the data of a model file.
  std::string job_file;

  void AddPlace(FlagSet* set) {
    set->AddString("--on PLACE", &on,
                   "Who computes: this machine, or the workers of the cluster, which read the same "
                   "files: machine, cluster [machine]");
  }

  // The argument of commands that also take a model file.
  void AddJobOrFile(FlagSet* set) {
    set->AddArgument("JOB", &job, /*is_required=*/true,
                     "Id of a job, name of the newest job with this name, or a model file: a path "
                     "with a slash, or a file of this folder: FILE.keras, .h5, .onnx, .json");
    set->AddString("--job_file FILE", &job_file,
                   "For a model file: a job file, or its JSON in {}, that describes the data and "
                   "has the losses and metrics. What is only about training may be absent");
  }

  // The model of a job or of a file. Of a file also what it is used for. The values of a job's
  // model are read only where they are used.
  absl::StatusOr<ChosenModel> ChooseModel(const CommandContext& context,
                                          FileModelOptions file_options) const {
    ChosenModel chosen;
    if (on != "machine" && on != "cluster") {
      return absl::InvalidArgumentError(
          absl::StrCat("--on: ", on, " is neither machine nor cluster"));
    }
    const bool on_cluster = on == "cluster";
    const bool is_file = NamesFile();
    CAIRN_RETURN_IF_ERROR(CheckFileFlags(is_file));
    if (!on_cluster || !job_file.empty()) {
      CAIRN_ASSIGN_OR_RETURN(chosen.place.machine.worker_program,
                             cluster::FindProgram(context.programs_folder, "worker"));
      chosen.place.machine.environment = context.environment;
    }
    if (is_file) {
      file_options.job_file = job_file;
      file_options.machine = chosen.place.machine;
      CAIRN_ASSIGN_OR_RETURN(chosen.model, ReadFileModel(job, file_options));
      if (on_cluster) {
        CAIRN_ASSIGN_OR_RETURN(chosen.api, FindCoordinator(Choice(context)));
      }
    } else {
      CAIRN_RETURN_IF_ERROR(FindJob(context, &chosen.found));
      if (on_cluster && chosen.found.api == nullptr) {
        return absl::UnavailableError(absl::StrCat(
            "--on cluster: no coordinator answers, the model is read from the state directory ",
            chosen.found.state, "; start the cluster (cairn up), or leave --on out"));
      }
      JobSource* const source = chosen.found.source.get();
      CAIRN_ASSIGN_OR_RETURN(chosen.model, on_cluster ? FindTrainedModel(source, job, checkpoint)
                                                      : ReadTrainedModel(source, job, checkpoint));
    }
    if (on_cluster) {
      chosen.place.cluster.coordinator = is_file ? chosen.api.get() : chosen.found.api.get();
      chosen.place.cluster.err = context.err;
    }
    return chosen;
  }

  void AddModel(FlagSet* set) {
    set->AddString("--model NAME", &model, "Which model, if the job has several (\"models\")");
  }

  void AddCheckpoint(FlagSet* set) {
    set->AddId("--checkpoint N", &checkpoint.checkpoint,
               "The checkpoint to use [the result of the job]");
    set->AddBool(
        "--best", &checkpoint.best,
        "The checkpoint with the best monitored value, kept by a callback of the job; if there "
        "are several (see cairn status), the first that is not the result");
    set->Exclude("--best", "--checkpoint");
  }

 private:
  // A job may be called like a file, so a name without a slash must be that of a file.
  bool NamesFile() const {
    std::error_code error;
    return IsModelFile(job) && (absl::StrContains(job, '/') || std::filesystem::exists(job, error));
  }

  absl::Status FindJob(const CommandContext& context, FoundSource* found) const {
    auto source = FindSource(Choice(context));
    if (source.ok()) {
      *found = *std::move(source);
      return absl::OkStatus();
    }
    if (!IsModelFile(job)) return source.status();
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", job, ": there is no such file here, and no job of this name (",
                     source.status().message(), ")"));
  }

  absl::Status CheckFileFlags(bool is_file) const {
    if (!is_file && !job_file.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--job_file: is for model files, and ", job,
          " is the name of a job, whose file describes the data already; leave the flag out"));
    }
    if (is_file && (checkpoint.best || checkpoint.checkpoint != 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(checkpoint.best ? "--best" : "--checkpoint", ": ", job,
                       " is a file, which has no checkpoints; leave the flag out"));
    }
    return absl::OkStatus();
  }
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_MODEL_FLAGS_H_

#ifndef CAIRN_CLI_COMMANDS_MODEL_FLAGS_H_
#define CAIRN_CLI_COMMANDS_MODEL_FLAGS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/model/inference_place.h"
#include "cli/model/trained_model.h"
#include "cluster/programs.h"
#include "common/status_macros.h"

namespace cairn::cli {

// Flags of commands that read a trained model.
struct ModelFlags : CommonFlags {
  CheckpointChoice checkpoint;

  // The model of a job of several.
  std::string model;

  // Where it is computed.
  std::string on = "machine";

  void AddPlace(FlagSet* set) {
    set->AddString("--on PLACE", &on,
                   "Who computes: this machine, or the workers of the cluster, which read the same "
                   "files: machine, cluster [machine]");
  }

  // `found` must outlive the result.
  absl::StatusOr<InferencePlace> Place(const CommandContext& context,
                                       const FoundSource& found) const {
    InferencePlace place;
    if (on == "cluster" && found.api != nullptr) {
      place.cluster.coordinator = found.api.get();
      place.cluster.err = context.err;
      return place;
    }
    if (on == "cluster") {
      return absl::UnavailableError(absl::StrCat(
          "--on cluster: no coordinator answers, the model is read from the state directory ",
          found.state, "; start the cluster (cairn up), or leave --on out"));
    }
    if (on != "machine") {
      return absl::InvalidArgumentError(
          absl::StrCat("--on: ", on, " is neither machine nor cluster"));
    }
    CAIRN_ASSIGN_OR_RETURN(place.machine.worker_program,
                           cluster::FindProgram(context.programs_folder, "worker"));
    place.machine.environment = context.environment;
    return place;
  }

  // The values are read only where they are used.
  absl::StatusOr<TrainedModel> ReadModel(const FoundSource& found,
                                         const InferencePlace& place) const {
    return place.on_cluster() ? FindTrainedModel(found.source.get(), job, checkpoint)
                              : ReadTrainedModel(found.source.get(), job, checkpoint);
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
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_MODEL_FLAGS_H_

#ifndef CAIRN_CLI_COMMANDS_MODEL_FLAGS_H_
#define CAIRN_CLI_COMMANDS_MODEL_FLAGS_H_

#include "cli/commands/flags.h"
#include "cli/model/trained_model.h"

namespace cairn::cli {

// Flags of commands that read a trained model.
struct ModelFlags : CommonFlags {
  CheckpointChoice checkpoint;

  // The model of a job of several.
  std::string model;

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

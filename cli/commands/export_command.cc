#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/model_flags.h"
#include "cli/model/job_files.h"
#include "cli/model/raw_inputs.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

struct ExportFlags : ModelFlags {
  std::string output;
  bool with_preprocessing = false;
  bool with_optimizer = false;
};

absl::StatusOr<int> Export(const ExportFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const nn::ExportFormat* const format,
                         ChooseExportFormat("--output", flags.output));
  if (flags.with_optimizer && format->extension != std::string(".safetensors")) {
    return absl::InvalidArgumentError(
        absl::StrCat("--with-optimizer: ", flags.output,
                     " does not take the state of an optimizer; only .safetensors files do"));
  }
  CAIRN_ASSIGN_OR_RETURN(const FoundSource found, FindSource(flags.Choice(context)));
  const auto read = flags.with_optimizer ? ReadModelWithOptimizer : ReadTrainedModel;
  CAIRN_ASSIGN_OR_RETURN(TrainedModel model, read(found.source.get(), flags.job, flags.checkpoint));
  CAIRN_RETURN_IF_ERROR(
      CheckExportOverwritesNone("--output", *format, flags.output, model.plan.job()));
  CAIRN_RETURN_IF_ERROR(SelectModel(flags.model, &model));
  if (flags.with_preprocessing) {
    CAIRN_ASSIGN_OR_RETURN(*model.plan.mutable_model(), ModelOfRawInputs(model.plan));
  }
  CAIRN_ASSIGN_OR_RETURN(const std::string file, ExportModel(model, *format, flags.output));
  if (flags.json) {
    const nlohmann::ordered_json line = {{"job", model.plan.job_id()},
                                         {"checkpoint", model.checkpoint.checkpoint()},
                                         {"model", file}};
    *context.out << line.dump() << "\n";
  } else {
    *context.out << "wrote checkpoint " << model.checkpoint.checkpoint() << " of job "
                 << model.plan.job_id() << " to " << file << " ("
                 << (flags.with_optimizer ? "safetensors, with the optimizer's state"
                                          : format->name)
                 << ")\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeExportCommand() {
  auto flags = std::make_shared<ExportFlags>();
  Command command;
  command.name = "export";
  command.description = "Write a trained model, as Keras and TF.js users load it";
  command.examples = {"cairn export fashion_mnist_cnn --output trained",
                      "cairn export fashion_mnist_cnn --output trained.keras --checkpoint 7"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    set->AddRequiredString(
        "--output PATH", &flags->output,
        "The .keras, .onnx, .safetensors or .ckpt (TensorFlow checkpoint) file to write, "
        "a .savedmodel folder, or another folder for model.json and weights.bin (a TF.js layers "
        "model)");
    set->AddBool(
        "--with-preprocessing", &flags->with_preprocessing,
        "Add layers that scale, standardize and encode the inputs as the job does, so that "
        "the exported model takes the values of the files");
    set->AddBool("--with-optimizer", &flags->with_optimizer,
                 "Add the state of the optimizer to a .safetensors file: its slots as "
                 "optimizer/SLOT/WEIGHT, and the number of its updates as optimizer/updates");
    flags->AddModel(set);
    flags->AddCheckpoint(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return Export(*flags, context); };
  return command;
}

}  // namespace cairn::cli

#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/model/trained_model.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

struct ExportFlags : CommonFlags {
  std::string output;
  uint64_t checkpoint = 0;
};

absl::StatusOr<int> Export(const ExportFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const FoundSource found, FindSource(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const TrainedModel model,
                         ReadTrainedModel(found.source.get(), flags.job, flags.checkpoint));
  CAIRN_RETURN_IF_ERROR(ExportModel(model, flags.output));
  const std::string file = flags.output + "/model.json";
  if (flags.json) {
    const nlohmann::ordered_json line = {{"job", model.plan.job_id()},
                                         {"checkpoint", model.checkpoint.checkpoint()},
                                         {"model", file}};
    *context.out << line.dump() << "\n";
  } else {
    *context.out << "wrote checkpoint " << model.checkpoint.checkpoint() << " of job "
                 << model.plan.job_id() << " to " << file << " (TF.js layers model)\n";
  }
  return kExitDone;
}

}  // namespace

void AddExportCommand(CLI::App* app, Action* action) {
  CLI::App* command =
      app->add_subcommand("export", "Write a trained model, as Keras and TF.js users load it");
  auto flags = std::make_shared<ExportFlags>();
  AddJobArgument(command, flags.get())->required();
  command->add_option("--output", flags->output, "The folder for model.json and weights.bin")
      ->required();
  command->add_option("--checkpoint", flags->checkpoint, "Which checkpoint's values [the newest's]")
      ->check(CLI::PositiveNumber);
  AddJsonFlag(command, flags.get());
  AddClusterFlags(command, flags.get());
  command->footer("Example:\n  cairn export fashion_mnist_cnn --output trained");
  command->callback([flags, action] {
    *action = [flags](const CommandContext& context) { return Export(*flags, context); };
  });
}

}  // namespace cairn::cli

#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/commands/follow.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

absl::StatusOr<int> Follow(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindCoordinator(flags.Choice(context)));
  CAIRN_RETURN_IF_ERROR(api->GetJob(flags.job).status());  // Waits for the coordinator.
  return FollowAndReport(api.get(), flags.job, flags.json, context);
}

}  // namespace

void AddFollowCommand(CLI::App* app, Action* action) {
  CLI::App* command =
      app->add_subcommand("follow", "Show a job's progress until it ends; Ctrl-C only detaches");
  auto flags = std::make_shared<CommonFlags>();
  AddJobArgument(command, flags.get())->required();
  AddJsonFlag(command, flags.get());
  AddClusterFlags(command, flags.get());
  command->footer("Example:\n  cairn follow fashion_mnist_cnn");
  command->callback([flags, action] {
    *action = [flags](const CommandContext& context) { return Follow(*flags, context); };
  });
}

}  // namespace cairn::cli

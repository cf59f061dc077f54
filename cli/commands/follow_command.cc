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

Command MakeFollowCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "follow";
  command.description = "Show a job's progress until it ends; Ctrl-C only detaches";
  command.footer = "Example:\n  cairn follow fashion_mnist_cnn";
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return Follow(*flags, context); };
  return command;
}

}  // namespace cairn::cli

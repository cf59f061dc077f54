#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/status_json.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

absl::StatusOr<int> Cancel(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindCoordinator(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const proto::JobStatus job, api->CancelJob(flags.job));
  if (flags.json) {
    *context.out << StatusJson(job).dump() << "\n";
  } else {
    *context.out << "job " << job.job_id() << " (" << job.name() << ") is "
                 << StateName(job.state()) << "\n";
  }
  return kExitDone;
}

}  // namespace

void AddCancelCommand(CLI::App* app, Action* action) {
  CLI::App* command =
      app->add_subcommand("cancel", "End a job for good; its checkpoints and history stay");
  auto flags = std::make_shared<CommonFlags>();
  AddJobArgument(command, flags.get())->required();
  AddJsonFlag(command, flags.get());
  AddClusterFlags(command, flags.get());
  command->footer("Example:\n  cairn cancel 3");
  command->callback([flags, action] {
    *action = [flags](const CommandContext& context) { return Cancel(*flags, context); };
  });
}

}  // namespace cairn::cli

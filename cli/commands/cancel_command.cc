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

Command MakeCancelCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "cancel";
  command.description = "Cancel a job; its checkpoints and history are kept";
  command.examples = {"cairn cancel fashion_mnist_cnn", "cairn cancel 3 --state my-run"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return Cancel(*flags, context); };
  return command;
}

}  // namespace cairn::cli

#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/status_json.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

absl::StatusOr<int> Resume(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindCoordinator(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const proto::JobStatus job, api->ResumeJob(flags.job));
  if (flags.json) {
    *context.out << StatusJson(job).dump() << "\n";
  } else {
    *context.out << "job " << job.job_id() << " (" << job.name() << ") is "
                 << StateName(job.state()) << "\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeResumeCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "resume";
  command.description = "Continue a failed or cancelled job from its newest checkpoint";
  command.examples = {"cairn resume fashion_mnist_cnn", "cairn resume 3 --state my-run"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return Resume(*flags, context); };
  return command;
}

}  // namespace cairn::cli

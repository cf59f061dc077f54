#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/status_json.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr absl::Duration kTimeout = absl::Minutes(10);

absl::StatusOr<int> TakeCheckpoint(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindCoordinator(flags.Choice(context)));
  CAIRN_RETURN_IF_ERROR(api->GetJob(flags.job).status());  // Waits for the coordinator.
  CAIRN_ASSIGN_OR_RETURN(const proto::Manifest manifest, api->TakeCheckpoint(flags.job, kTimeout));
  if (flags.json) {
    *context.out << CheckpointJson(manifest).dump() << "\n";
  } else {
    *context.out << "checkpoint " << manifest.checkpoint() << " of job " << manifest.job_id()
                 << " holds " << manifest.applied_batches() << " batches\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeCheckpointCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "checkpoint";
  command.description = "Take a checkpoint of a running job and wait until it is complete";
  command.examples = {"cairn checkpoint fashion_mnist_cnn"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return TakeCheckpoint(*flags, context); };
  return command;
}

}  // namespace cairn::cli

#include <memory>
#include <utility>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/commands/follow.h"
#include "cli/status_json.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

// Reports from the state directory how a job ended whose cluster is down. Returns `unreachable` if
// the job has not ended.
absl::StatusOr<int> ReportFromState(const CommonFlags& flags, const absl::Status& unreachable,
                                    const CommandContext& context) {
  const auto found = FindSource(flags.Choice(context));
  if (!found.ok()) return unreachable;
  const auto job = found->source->GetJob(flags.job);
  if (!job.ok() || !HasEnded(job->state())) return unreachable;
  if (flags.json) *context.out << FoundStatusJson(*job, /*cluster_up=*/false).dump() << "\n";
  return ReportEnd(*job, flags.json, context);
}

absl::StatusOr<int> Follow(const CommonFlags& flags, const CommandContext& context) {
  // `interrupts` uses `api`, so it is destroyed first. It is created before `api` starts threads.
  std::unique_ptr<CoordinatorApi> api;
  DetachOnInterrupt interrupts(context);
  auto found = FindCoordinator(flags.Choice(context));
  if (absl::IsUnavailable(found.status())) return ReportFromState(flags, found.status(), context);
  CAIRN_ASSIGN_OR_RETURN(api, std::move(found));
  CAIRN_RETURN_IF_ERROR(api->GetJob(flags.job).status());  // Waits for the coordinator.
  interrupts.Watch(api.get(), flags.Again("cairn follow " + flags.job));
  return FollowAndReport(api.get(), flags.job, flags.json, interrupts, context);
}

}  // namespace

Command MakeFollowCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "follow";
  command.description = "Show the progress of a job until it ends; Ctrl-C stops only this command";
  command.details =
      "With --json each line is the status of the job, with the evaluations since the previous "
      "line. Epochs count from 0.";
  command.examples = {"cairn follow fashion_mnist_cnn", "cairn follow 3 --json"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return Follow(*flags, context); };
  return command;
}

}  // namespace cairn::cli

#include <memory>

#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/status_json.h"
#include "cli/view/cluster_text.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

absl::StatusOr<int> PrintCluster(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindCoordinator(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const auto cluster, api->GetCluster());
  if (!flags.json) {
    *context.out << ClusterText(cluster, api->address());
    return kExitDone;
  }
  for (const proto::Member& member : MembersOf(cluster)) {
    *context.out << MemberJson(member, cluster.term()).dump() << "\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeClusterCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "cluster";
  command.description = "List the members of a cluster with address, state and load";
  command.details =
      "JOINED is how often a task has joined this coordinator; a task joins again after a restart "
      "and after a broken connection. For the coordinator it is its number of starts. HEARD is "
      "the time since the last message of the task; after 10 s it counts as lost. STATE says how "
      "long an absent task has been silent; \"not since start\" is a task that has not joined "
      "since the coordinator started. A worker is slow that has less than a quarter of the median "
      "rate; it keeps its batches. MEMORY is the resident memory of the process and its limit "
      "(of the machine, the control group or ulimit -v). DISK FREE is the free space for the "
      "snapshots of a ps. RATE is the mean of the last 8 s. These are empty for an absent task.";
  command.examples = {"cairn cluster", "cairn cluster --coordinator 10.0.0.1:4000 --json"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return PrintCluster(*flags, context); };
  return command;
}

}  // namespace cairn::cli

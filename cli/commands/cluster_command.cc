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
  command.description = "Show the members of a cluster: where they are and how they do";
  command.details =
      "JOINED counts how often a task has joined this coordinator (a daemon that was started "
      "again, or whose connection broke, joins again; the coordinator's own is its count of "
      "starts). HEARD is the age of the task's lease: how long ago something came from it; after "
      "10 s without it is taken for dead. STATE tells for how long an away task has been silent. "
      "\"not since start\" is a task that this start of the coordinator has not heard from: what "
      "it "
      "did before is not known. MEMORY is what the process occupies, RATE a mean over the last 8 "
      "s; "
      "a task that is away has neither.";
  command.examples = {"cairn cluster", "cairn cluster --coordinator 10.0.0.1:4000 --json"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return PrintCluster(*flags, context); };
  return command;
}

}  // namespace cairn::cli

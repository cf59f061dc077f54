#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/view/cluster_text.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

absl::StatusOr<int> Delete(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindCoordinator(flags.Choice(context)));
  const absl::StatusOr<proto::DeleteJobReply> deleted = api->DeleteJob(flags.job);
  if (absl::StrContains(deleted.status().message(), "cairn cancel")) {
    // The message ends with a command. Adds the flags that select the cluster, which the
    // coordinator does not know.
    return absl::Status(deleted.status().code(),
                        flags.Again(std::string(deleted.status().message())));
  }
  if (!deleted.ok()) return deleted.status();
  const proto::DeleteJobReply& reply = *deleted;
  if (flags.json) {
    const nlohmann::ordered_json line = {{"job", reply.status().job_id()},
                                         {"name", reply.status().name()},
                                         {"checkpoints", reply.checkpoints()},
                                         {"bytes", reply.bytes()}};
    *context.out << line.dump() << "\n";
    return kExitDone;
  }
  *context.out << "deleted job " << reply.status().job_id() << " (" << reply.status().name()
               << "), its history and "
               << Plural(static_cast<int64_t>(reply.checkpoints()), "checkpoint") << " of "
               << BytesText(static_cast<int64_t>(reply.bytes())) << "\n";
  return kExitDone;
}

}  // namespace

Command MakeDeleteCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "delete";
  command.description = "Delete a job that has ended, with its checkpoints, history and name";
  command.details =
      "A deleted job cannot be restored. To keep the model, run cairn export first. A ps that is "
      "absent deletes its snapshots when it returns. A job that has not ended must be cancelled "
      "first, with cairn cancel. If several jobs have the same name, JOB must be an id (cairn "
      "jobs shows them).";
  command.examples = {"cairn delete 3", "cairn delete fashion_mnist_cnn --state my-cluster"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return Delete(*flags, context); };
  return command;
}

}  // namespace cairn::cli

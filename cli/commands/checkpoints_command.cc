#include <memory>

#include "absl/strings/str_format.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/progress_text.h"
#include "cli/status_json.h"
#include "cli/view/cluster_text.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

void PrintTable(const proto::CheckpointList& list, std::ostream* out) {
  for (const auto& manifest : list.manifests()) {
    int64_t bytes = 0;
    for (const auto& part : manifest.parts()) bytes += static_cast<int64_t>(part.bytes());
    const int copies = CopiesOf(manifest);
    *out << absl::StrFormat("%4d  %10d batches  %10s  %-8s  %-8s  %s%s\n", manifest.checkpoint(),
                            manifest.applied_batches(), BytesText(bytes),
                            copies == 1 ? "1 copy" : absl::StrCat(copies, " copies"),
                            manifest.reason(), TimeText(manifest.unix_seconds()),
                            manifest.damaged().empty() ? "" : "  DAMAGED: " + manifest.damaged());
  }
}

absl::StatusOr<int> PrintCheckpoints(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const FoundSource found, FindSource(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const auto list, found.source->ListCheckpoints(flags.job));
  if (!flags.json) {
    PrintTable(list, context.out);
    if (!list.manifests().empty()) return kExitDone;
    CAIRN_ASSIGN_OR_RETURN(const proto::JobStatus job, found.source->GetJob(flags.job));
    *context.out << NothingOf("There are no checkpoints", job);
    return kExitDone;
  }
  for (const auto& manifest : list.manifests()) {
    *context.out << CheckpointJson(manifest).dump() << "\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeCheckpointsCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "checkpoints";
  command.description = "List the checkpoints of a job, oldest first";
  command.examples = {"cairn checkpoints fashion_mnist_cnn",
                      "cairn checkpoints fashion_mnist_cnn --state my-run --json"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) {
    return PrintCheckpoints(*flags, context);
  };
  return command;
}

}  // namespace cairn::cli

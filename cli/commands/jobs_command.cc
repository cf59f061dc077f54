#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/status_json.h"
#include "cli/view/loss_warning.h"
#include "cli/view/shell_word.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

std::string ListedState(const FoundSource& found, const proto::JobStatus& job) {
  if (IsStopped(found, job)) return "stopped";
  const std::string loss = NonfiniteLoss(job);
  if (!loss.empty()) return absl::StrCat(StateName(job.state()), " (", loss, ")");
  if (job.state() != proto::QUEUED || job.queue_place() <= 0) return StateText(job);
  return absl::StrCat("queued, place ", job.queue_place());
}

// The progress of a job, and its error if it has one.
std::string BatchesText(const proto::JobStatus& job) {
  const std::string done =
      job.total_batches() == 0
          ? "-"
          : absl::StrFormat("%d/%d (%d%%)", job.batches_done(), job.total_batches(),
                            100 * job.batches_done() / job.total_batches());
  return job.error().empty() ? done : absl::StrCat(done, "  ", job.error());
}

absl::StatusOr<int> PrintJobs(const CommonFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const FoundSource found, FindSource(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const auto jobs, found.source->ListJobs());
  if (flags.json) {
    for (const auto& job : jobs) {
      *context.out << FoundStatusJson(job, IsUp(found)).dump() << "\n";
    }
    return kExitDone;
  }
  if (jobs.empty()) {
    *context.out << "There are no jobs yet.\n";
    return kExitDone;
  }
  *context.out << absl::StrFormat("%4s  %-24s %-16s %s\n", "ID", "NAME", "STATE", "BATCHES");
  for (const auto& job : jobs) {
    *context.out << absl::StrFormat("%4d  %-24s %-16s %s\n", job.job_id(), job.name(),
                                    ListedState(found, job), BatchesText(job));
  }
  if (std::any_of(jobs.begin(), jobs.end(),
                  [&found](const auto& job) { return IsStopped(found, job); })) {
    *context.out << "No cluster is running on " << found.state << "; cairn up --state "
                 << ShellWord(found.state) << " continues the unfinished jobs.\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeJobsCommand() {
  auto flags = std::make_shared<CommonFlags>();
  Command command;
  command.name = "jobs";
  command.description = "List all jobs, oldest first";
  command.details =
      "The line of a failed job ends with the reason. A rejected job failed before it started, "
      "because its input is invalid. The name of a rejected job is free again.";
  command.examples = {"cairn jobs", "cairn jobs --coordinator 10.0.0.1:4000 --json"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return PrintJobs(*flags, context); };
  return command;
}

}  // namespace cairn::cli

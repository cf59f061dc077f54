#include <memory>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/commands/follow.h"
#include "cli/status_json.h"
#include "cli/submission.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

struct SubmitFlags : CommonFlags {
  std::string job_file;
  bool follow = false;
};

absl::StatusOr<int> SubmitJob(const SubmitFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Submission submission, ReadSubmission(flags.job_file));
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindCoordinator(flags.Choice(context)));
  CAIRN_ASSIGN_OR_RETURN(const auto reply, Submit(api.get(), submission, /*reuse=*/false));
  const std::string id = absl::StrCat(reply.job_id());
  if (flags.json) {
    *context.out << StatusJson(reply.status()).dump() << "\n";
  } else {
    *context.out << "job " << id << " (" << submission.job.name() << ") is accepted";
    if (!flags.follow) *context.out << "; see it with cairn follow " << id;
    *context.out << "\n";
  }
  context.out->flush();
  if (!flags.follow) return kExitDone;
  return FollowAndReport(api.get(), id, flags.json, context);
}

}  // namespace

void AddSubmitCommand(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand("submit", "Hand a job to a cluster that runs");
  auto flags = std::make_shared<SubmitFlags>();
  command->add_option("JOB.json", flags->job_file, "The job file")->required();
  command->add_flag("--follow", flags->follow, "Show its progress until it ends");
  AddJsonFlag(command, flags.get());
  AddClusterFlags(command, flags.get());
  command->footer("Example:\n  cairn submit job.json --follow --coordinator 10.0.0.1:2222");
  command->callback([flags, action] {
    *action = [flags](const CommandContext& context) { return SubmitJob(*flags, context); };
  });
}

}  // namespace cairn::cli

#include <chrono>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/commands/follow.h"
#include "cli/status_json.h"
#include "cli/submission.h"
#include "common/clock.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

constexpr absl::Duration kJoinTimeout = absl::Minutes(1);
constexpr std::chrono::milliseconds kJoinPoll(50);

struct SubmitFlags : CommonFlags {
  std::string job_file;
  bool follow = false;
};

// Waits for members that the job needs, since people submit right after starting a cluster.
absl::StatusOr<proto::SubmitReply> SubmitWhenMembersAreThere(const SubmitFlags& flags,
                                                             CoordinatorApi* api,
                                                             const Submission& submission,
                                                             const DetachOnInterrupt& interrupts,
                                                             const CommandContext& context,
                                                             std::vector<std::string>* notes) {
  const RealClock clock;
  const absl::Duration end = clock.Now() + kJoinTimeout;
  std::string awaited;
  while (true) {
    auto reply = Submit(api, submission, /*reuse=*/false, notes);
    if (!absl::IsAborted(reply.status()) || clock.Now() > end || interrupts.exit_code() != 0) {
      return reply;
    }
    const std::string why(reply.status().message());
    if (!flags.json && why != awaited) *context.out << "waiting: " << why << std::endl;
    awaited = why;
    std::this_thread::sleep_for(kJoinPoll);
  }
}

absl::StatusOr<int> SubmitJob(const SubmitFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const Submission submission, ReadSubmission(flags.job_file));
  // `interrupts` uses `api`, so it is destroyed first. It is created before `api` starts threads.
  std::unique_ptr<CoordinatorApi> api;
  DetachOnInterrupt interrupts(context);
  CAIRN_ASSIGN_OR_RETURN(api, FindCoordinator(flags.Choice(context)));
  std::vector<std::string> notes;
  CAIRN_ASSIGN_OR_RETURN(const auto reply, SubmitWhenMembersAreThere(flags, api.get(), submission,
                                                                     interrupts, context, &notes));
  const std::string id = absl::StrCat(reply.job_id());
  const std::string again = flags.Again("cairn follow " + id);
  if (flags.json) {
    *context.out << StatusJson(reply.status()).dump() << "\n";
  } else {
    *context.out << "job " << id << " (" << submission.job.name() << ") is accepted";
    if (!flags.follow) *context.out << "; show it with: " << again;
    *context.out << "\n";
    for (const std::string& note : notes) *context.out << note << "\n";
    if (IsOfARun(flags.Choice(context))) {
      *context.out << "This cluster is a cairn run's and ends with its job: what is left then goes "
                      "on with cairn up on the same --state.\n";
    }
  }
  context.out->flush();
  if (!flags.follow) return kExitDone;
  interrupts.Watch(api.get(), again);
  return FollowAndReport(api.get(), id, flags.json, interrupts, context);
}

}  // namespace

Command MakeSubmitCommand() {
  auto flags = std::make_shared<SubmitFlags>();
  Command command;
  command.name = "submit";
  command.description = "Submit a job to a running cluster";
  command.examples = {"cairn submit job.json --follow",
                      "cairn submit job.json --coordinator 10.0.0.1:4000"};
  command.add_flags = [flags](FlagSet* set) {
    set->AddArgument("JOB.json", &flags->job_file, /*is_required=*/true, "The job file");
    set->AddBool("--follow", &flags->follow, "Show the progress until the job ends");
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return SubmitJob(*flags, context); };
  return command;
}

}  // namespace cairn::cli

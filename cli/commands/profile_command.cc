#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/files.h"
#include "cli/model/job_files.h"
#include "cli/profile/chrome_trace.h"
#include "cli/profile/profile_summary.h"
#include "cli/status_json.h"
#include "common/status_macros.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {
namespace {

constexpr int kStepsMax = 10000;
constexpr double kTimeoutMin = 0.001;
constexpr double kTimeoutMax = 3600;

struct ProfileFlags : CommonFlags {
  int steps = 50;       // Of each worker.
  double timeout = 60;  // Seconds.
  std::string trace;
};

double Share(double seconds, const ProfileSummary& summary) {
  return summary.seconds > 0 ? 100 * seconds / summary.seconds : 0;
}

void PrintWorker(const ProfileSummary& worker, std::ostream* out) {
  const double steps = static_cast<double>(std::max<int64_t>(1, worker.steps));
  *out << absl::StrFormat("%s: %d steps, %.3f ms each\n", worker.task, worker.steps,
                          1e3 * worker.seconds / steps);
  for (const auto& phase : worker.phases) {
    *out << absl::StrFormat("  %-28s %10.3f ms a step  %5.1f %%\n", phase.name,
                            1e3 * phase.seconds / steps, Share(phase.seconds, worker));
  }
  if (worker.loaded_batches > 0) {
    const auto batches = static_cast<double>(worker.loaded_batches);
    *out << absl::StrFormat("  beside the steps, on the threads that load the batches:\n");
    *out << absl::StrFormat("  %-28s %10.3f ms a batch\n", "reading",
                            1e3 * worker.reading_seconds / batches);
    *out << absl::StrFormat("  %-28s %10.3f ms a batch\n", "decoding",
                            1e3 * worker.decoding_seconds / batches);
  }
  if (!worker.layers.empty()) {
    *out << absl::StrFormat("  %-28s %10s %11s  (ms a step)\n", "layer", "forward", "backward");
  }
  for (const auto& layer : worker.layers) {
    *out << absl::StrFormat("  %-28s %10.3f %11.3f  %5.1f %%\n", layer.name,
                            1e3 * layer.forward_seconds / steps,
                            1e3 * layer.backward_seconds / steps,
                            Share(layer.forward_seconds + layer.backward_seconds, worker));
  }
}

void PrintPs(const ProfileSummary& ps, std::ostream* out) {
  *out << absl::StrFormat("%s: in %.3f s\n", ps.task, ps.seconds);
  for (const auto& phase : ps.phases) {
    const double each =
        phase.count > 0 ? 1e6 * phase.seconds / static_cast<double>(phase.count) : 0;
    *out << absl::StrFormat("  %-28s %10d times  %9.1f us each  %5.1f %% of a thread\n", phase.name,
                            phase.count, each, Share(phase.seconds, ps));
  }
}

nlohmann::ordered_json SummaryJson(const ProfileSummary& summary) {
  nlohmann::ordered_json out = {{"task", summary.task},
                                {"steps", summary.steps},
                                {"seconds", summary.seconds},
                                {"phases", nlohmann::ordered_json::array()},
                                {"layers", nlohmann::ordered_json::array()}};
  for (const auto& phase : summary.phases) {
    out["phases"].push_back(
        {{"name", phase.name}, {"count", phase.count}, {"seconds", phase.seconds}});
  }
  if (summary.loaded_batches > 0) {
    out["loading"] = {{"batches", summary.loaded_batches},
                      {"reading_seconds", summary.reading_seconds},
                      {"decoding_seconds", summary.decoding_seconds}};
  }
  for (const auto& layer : summary.layers) {
    out["layers"].push_back({{"name", layer.name},
                             {"forward_seconds", layer.forward_seconds},
                             {"backward_seconds", layer.backward_seconds}});
  }
  return out;
}

absl::Status CheckTrace(const ProfileFlags& flags, CoordinatorApi* api) {
  const absl::Status status = CheckMayWrite(flags.trace);
  if (!status.ok()) return absl::Status(status.code(), absl::StrCat("--trace: ", status.message()));
  const auto plan = api->GetPlan(flags.job);
  if (!plan.ok()) return absl::OkStatus();  // Profile returns the error.
  return CheckOverwritesNone("--trace", flags.trace, FilesOfJob(plan->job()));
}

bool HasSteps(const proto::ProfileReply& profile) {
  return std::any_of(profile.tasks().begin(), profile.tasks().end(),
                     [](const proto::ProfileReport& task) { return task.steps() > 0; });
}

absl::Status NoSteps(const ProfileFlags& flags, CoordinatorApi* api) {
  CAIRN_ASSIGN_OR_RETURN(const proto::JobStatus job, api->GetJob(flags.job));
  const std::string why =
      job.waiting_for().empty() ? "; increase --timeout" : ", waiting " + job.waiting_for();
  return absl::FailedPreconditionError(
      absl::StrCat("no worker completed a step within ", flags.timeout, " s: job ", job.job_id(),
                   " (", job.name(), ") is ", StateName(job.state()), why));
}

absl::StatusOr<int> Profile(const ProfileFlags& flags, const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const auto api, FindCoordinator(flags.Choice(context)));
  // Check this before the measurement.
  if (!flags.trace.empty()) CAIRN_RETURN_IF_ERROR(CheckTrace(flags, api.get()));
  CAIRN_ASSIGN_OR_RETURN(const proto::ProfileReply profile,
                         api->Profile(flags.job, flags.steps, absl::Seconds(flags.timeout)));
  if (!HasSteps(profile)) return NoSteps(flags, api.get());
  for (const proto::ProfileReport& task : profile.tasks()) {
    const ProfileSummary summary = Summarize(task);
    if (flags.json) {
      *context.out << SummaryJson(summary).dump() << "\n";
    } else if (task.role() == proto::PS) {
      PrintPs(summary, context.out);
    } else {
      PrintWorker(summary, context.out);
    }
  }
  if (flags.trace.empty()) return kExitDone;
  CAIRN_RETURN_IF_ERROR(WriteFile(flags.trace, ChromeTrace(profile)));
  if (!flags.json) {
    *context.out << "wrote " << flags.trace << "; open it in chrome://tracing or ui.perfetto.dev\n";
  }
  return kExitDone;
}

}  // namespace

Command MakeProfileCommand() {
  auto flags = std::make_shared<ProfileFlags>();
  Command command;
  command.name = "profile";
  command.description = "Measure how the time of a running job is spent";
  command.details =
      "The phases of a worker are data (waiting for the batch), wait (until the ps acknowledge the "
      "gradients of the last step), pull, compute and push; those of a ps are receive, apply and "
      "reply. A worker loads the next batches on other threads during a step: reading is their "
      "time "
      "in reads of files, decoding their processor time for the rest. Without this command nothing "
      "is measured.";
  command.examples = {"cairn profile fashion_mnist_cnn",
                      "cairn profile fashion_mnist_cnn --steps 100 --trace trace.json"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set);
    set->AddCount("--steps", &flags->steps, kStepsMax,
                  "Number of steps to measure on each worker [50]");
    set->AddNumber("--timeout SECONDS", &flags->timeout, kTimeoutMin, kTimeoutMax,
                   "Report what was measured after this time [60]");
    set->AddString("--trace FILE", &flags->trace, "Write a Chrome trace (JSON) to this file");
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return Profile(*flags, context); };
  return command;
}

}  // namespace cairn::cli

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/commands/command.h"
#include "cli/commands/flags.h"
#include "cli/progress_text.h"
#include "cli/status_json.h"
#include "cli/view/cluster_text.h"
#include "cli/view/loss_warning.h"
#include "cli/view/shell_word.h"
#include "cli/view/variables_text.h"
#include "cluster/partition_map.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/strategy.h"

namespace cairn::cli {
namespace {

// Only the newest are shown; `cairn history` has all evaluations.
constexpr int kEpochsShown = 10;
constexpr int kNotesShown = 5;

void PrintFaults(const proto::JobStatus& job, std::ostream* out) {
  *out << absl::StrFormat("  faults       %s, %s lost, %d joined, %d duplicate pushes rejected\n",
                          Plural(job.rollbacks(), "rollback"), Plural(job.workers_lost(), "worker"),
                          job.workers_joined(), job.duplicates_refused());
  *out << absl::StrFormat("  checkpoints  %s, %d skipped, %d failed\n", CheckpointsText(job),
                          job.checkpoints_skipped(), job.checkpoints_failed());
  if (!job.checkpoint_error().empty()) {
    *out << "               last error: " << job.checkpoint_error() << "\n";
  }
  if (job.copies_failed() > 0) {
    *out << absl::StrFormat("  copies       %d failed", job.copies_failed());
    if (!job.copy_error().empty()) *out << ", the last: " << job.copy_error();
    *out << "\n";
  }
  if (!job.warning().empty()) *out << "  WARNING      " << job.warning() << "\n";
}

void PrintLeftOut(const proto::JobStatus& job, std::ostream* out) {
  if (job.batches_rejected() > 0) {
    *out << absl::StrFormat(
        "  rejected     %d of %d batches: their loss or a gradient is not finite\n",
        job.batches_rejected(), job.batches_done());
  }
  if (job.nonfinite_rollbacks() > 0) {
    *out << absl::StrFormat("  not finite   %s with half the learning rate\n",
                            Plural(job.nonfinite_rollbacks(), "rollback"));
  }
  const auto print = [out](const char* data, const proto::DamagedRecords& damaged) {
    if (damaged.count() == 0) return;
    *out << absl::StrFormat("  skipped      %s of the %s data, the first: %s\n",
                            Plural(damaged.count(), "damaged record"), data, damaged.first_error());
  };
  print("training", job.train_damaged());
  print("validation", job.validation_damaged());
}

// The error of a failed job has the reason already.
void PrintLossWarning(const proto::JobStatus& job, std::ostream* out) {
  const std::string warning = LossWarning(job);
  if (warning.empty() || job.state() == proto::FAILED) return;
  *out << "  WARNING      " << warning << "\n";
}

// Prints the newest notes.
void PrintNotes(const proto::JobStatus& job, std::ostream* out) {
  for (int i = std::max(0, job.notes_size() - kNotesShown); i < job.notes_size(); ++i) {
    *out << "  note         " << NoteText(job.notes(i), absl::ToUnixSeconds(absl::Now())) << "\n";
  }
}

void PrintBest(const proto::JobStatus& job, std::ostream* out) {
  for (const auto& best : job.best()) {
    *out << absl::StrFormat("  best         %s %.6g after epoch %d: checkpoint %d%s\n",
                            best.monitor(), best.value(), best.epoch() + 1, best.checkpoint(),
                            best.is_result() ? ", the job's result" : "");
  }
}

void PrintState(const FoundSource& found, const proto::JobStatus& job, std::ostream* out) {
  *out << "job " << job.job_id() << " (" << job.name() << "): ";
  if (IsStopped(found, job)) {
    *out << "stopped, no cluster is running on " << found.state << "\n"
         << "  to continue  cairn up --state " << ShellWord(found.state)
         << ", or the same cairn run\n";
    return;
  }
  *out << StateText(job);
  if (!job.error().empty()) *out << ": " << job.error();
  *out << "\n";
  if (!HasEnded(job.state())) *out << "  now          " << ProgressLine(job, 0) << "\n";
}

void PrintEvaluations(const CommonFlags& flags, const proto::JobStatus& job, std::ostream* out) {
  const int first = std::max(0, job.evaluations_size() - kEpochsShown);
  if (first > 0) {
    *out << "  epochs before " << job.evaluations(first).epoch() + 1 << ": "
         << flags.Again(absl::StrCat("cairn history ", job.job_id())) << "\n";
  }
  for (int i = first; i < job.evaluations_size(); ++i) {
    *out << "  epoch " << absl::StrFormat("%-6d", job.evaluations(i).epoch() + 1) << " validation "
         << EvaluationText(job.evaluations(i), job.metric_names()) << "\n";
  }
}

// How batches become updates.
struct Updates {
  std::string strategy;
  std::string mode;  // Of parameter servers; else empty.
  // The examples of a batch, which one worker computes. Those of an update are the global batch.
  int64_t batch_size = 0;
  int64_t batches_per_update = 1;
};

// Nothing before the job has a plan.
std::optional<Updates> UpdatesOf(const FoundSource& found, const proto::JobStatus& job) {
  const absl::StatusOr<proto::JobPlan> plan = found.source->GetPlan(absl::StrCat(job.job_id()));
  if (!plan.ok()) return std::nullopt;
  Updates updates;
  updates.strategy = job::StrategyName(plan->job().strategy());
  if (!job::NeedsClusterWithoutPs(plan->job().strategy())) {
    updates.mode = plan->synchronous() ? "sync" : plan->window() < 0 ? "async" : "stale";
  }
  updates.batch_size = plan->batch_size();
  if (plan->synchronous()) updates.batches_per_update = plan->batches_per_update();
  return updates;
}

void PrintUpdates(const Updates& updates, std::ostream* out) {
  *out << "  strategy     " << updates.strategy << (updates.mode.empty() ? "" : ", ")
       << updates.mode << "\n";
  *out << "  batch size   " << Plural(updates.batch_size, "example") << " on one worker; ";
  if (updates.batches_per_update == 1) {
    *out << "each batch is an update\n";
  } else {
    *out << updates.batches_per_update << " batches are an update: global batch "
         << updates.batches_per_update * updates.batch_size << "\n";
  }
}

nlohmann::ordered_json JobJson(const FoundSource& found, const proto::JobStatus& job) {
  nlohmann::ordered_json json = FoundStatusJson(job, IsUp(found));
  if (const auto updates = UpdatesOf(found, job)) {
    json["strategy"] = updates->strategy;
    if (!updates->mode.empty()) json["mode"] = updates->mode;
    json["batch_size"] = updates->batch_size;
    json["batches_per_update"] = updates->batches_per_update;
    json["global_batch_size"] = updates->batches_per_update * updates->batch_size;
  }
  return json;
}

void PrintJob(const CommonFlags& flags, const FoundSource& found, const proto::JobStatus& job,
              std::ostream* out) {
  PrintState(found, job, out);
  *out << absl::StrFormat("  batches      %d of %d%s\n", job.batches_done(), job.total_batches(),
                          job.stopped_early() ? ", stopped early" : "");
  if (const auto updates = UpdatesOf(found, job)) PrintUpdates(*updates, out);
  PrintEvaluations(flags, job, out);
  PrintBest(job, out);
  PrintFaults(job, out);
  PrintLeftOut(job, out);
  PrintLossWarning(job, out);
  PrintNotes(job, out);
}

// Without JOB: prints the cluster if it is up, the jobs that have not ended, and the last job.
absl::StatusOr<int> PrintOverview(const CommonFlags& flags, const FoundSource& found,
                                  const CommandContext& context) {
  if (found.api != nullptr) {
    CAIRN_ASSIGN_OR_RETURN(const auto cluster, found.api->GetCluster());
    if (flags.json) {
      for (const auto& member : MembersOf(cluster)) {
        *context.out << MemberJson(member, cluster.term()).dump() << "\n";
      }
    } else {
      *context.out << ClusterText(cluster, found.api->address());
    }
  }
  CAIRN_ASSIGN_OR_RETURN(const auto jobs, found.source->ListJobs());
  if (jobs.empty() && !flags.json) *context.out << "There are no jobs yet.\n";
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (HasEnded(jobs[i].state()) && i + 1 < jobs.size()) continue;
    if (flags.json) {
      *context.out << JobJson(found, jobs[i]).dump() << "\n";
    } else {
      PrintJob(flags, found, jobs[i], context.out);
    }
  }
  return kExitDone;
}

// Where the variables of the job are.
absl::StatusOr<int> PrintVariables(const CommonFlags& flags, const FoundSource& found,
                                   const CommandContext& context) {
  CAIRN_ASSIGN_OR_RETURN(const proto::JobPlan plan, found.source->GetPlan(flags.job));
  CAIRN_RETURN_IF_ERROR(cluster::ValidatePartitionMap(plan.partition()));
  if (flags.json) {
    for (const auto& line : VariablesJson(plan)) *context.out << line.dump() << "\n";
  } else {
    *context.out << "job " << plan.job_id() << " (" << plan.job().name() << ")\n"
                 << VariablesText(plan);
  }
  return kExitDone;
}

struct StatusFlags : CommonFlags {
  bool variables = false;
};

absl::StatusOr<int> PrintStatus(const StatusFlags& flags, const CommandContext& context) {
  if (flags.variables && flags.job.empty()) {
    return absl::InvalidArgumentError("--variables: name the job, cairn status JOB --variables");
  }
  CAIRN_ASSIGN_OR_RETURN(const FoundSource found, FindSource(flags.Choice(context)));
  if (flags.variables) return PrintVariables(flags, found, context);
  if (flags.job.empty()) return PrintOverview(flags, found, context);
  CAIRN_ASSIGN_OR_RETURN(const proto::JobStatus job, found.source->GetJob(flags.job));
  if (flags.json) {
    *context.out << JobJson(found, job).dump() << "\n";
  } else {
    PrintJob(flags, found, job, context.out);
  }
  return kExitDone;
}

}  // namespace

Command MakeStatusCommand() {
  auto flags = std::make_shared<StatusFlags>();
  Command command;
  command.name = "status";
  command.description = "Show the state of a job, or without JOB that of the cluster and its jobs";
  command.examples = {"cairn status", "cairn status fashion_mnist_cnn --json",
                      "cairn status fashion_mnist_cnn --variables"};
  command.add_flags = [flags](FlagSet* set) {
    flags->AddJob(set, /*is_required=*/false);
    set->AddBool("--variables", &flags->variables,
                 "Show where the job's variables are: shape, rows, ps and bytes of each shard");
    flags->AddJson(set);
    flags->AddCluster(set);
  };
  command.run = [flags](const CommandContext& context) { return PrintStatus(*flags, context); };
  return command;
}

}  // namespace cairn::cli

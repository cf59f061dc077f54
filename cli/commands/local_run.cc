#include "cli/commands/local_run.h"

#include <filesystem>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/files.h"
#include "cli/local/cluster_service.h"
#include "cli/local/state_lock.h"
#include "cli/model/job_files.h"
#include "cli/model/trained_model.h"
#include "cli/remote_source.h"
#include "cli/status_json.h"
#include "cli/view/loss_warning.h"
#include "cli/view/shell_word.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "job/model_objectives.h"
#include "job/strategy.h"
#include "nlohmann/json.hpp"
#include "nn/model_union.h"

namespace cairn::cli {
namespace {

constexpr absl::Duration kStartTimeout = absl::Minutes(1);

// The command that continues the run. It needs no --ps: the state directory has the number.
std::string RunCommandAgain(const LocalRunOptions& options) {
  std::string command = absl::StrCat("cairn run ", ShellWord(options.job_file));
  if (options.state != kDefaultState) {
    absl::StrAppend(&command, " --state ", ShellWord(options.state));
  }
  if (options.tasks.workers > 0) {
    absl::StrAppend(&command, " --workers ", options.tasks.workers);
  }
  if (options.tasks.evaluators > 0) {
    absl::StrAppend(&command, " --evaluators ", options.tasks.evaluators);
  }
  if (!options.device.empty()) absl::StrAppend(&command, " --device ", ShellWord(options.device));
  if (!options.export_output.empty()) {
    absl::StrAppend(&command, " --export ", ShellWord(options.export_output));
  }
  return command;
}

std::string NameOf(const proto::JobStatus& job) {
  return absl::StrCat("job ", job.job_id(), " (", job.name(), ")");
}

absl::Status CheckMayExport(const std::string& output, const proto::Job& job) {
  CAIRN_ASSIGN_OR_RETURN(const nn::ExportFormat* const format,
                         ChooseExportFormat("--export", output));
  const absl::Status status = format->is_folder() ? CheckMayWriteIn(output) : CheckMayWrite(output);
  if (!status.ok()) {
    return absl::Status(status.code(), absl::StrCat("--export: ", status.message()));
  }
  return CheckExportOverwritesNone("--export", *format, output, job);
}

// Where one of several models is exported: "out.keras" becomes "out-generator.keras", and the
// folder "out" becomes "out/generator".
std::filesystem::path OutputOfModel(const std::filesystem::path& output, const std::string& name) {
  if (!output.has_filename() || !output.has_extension()) return output / name;
  return output.parent_path() /
         absl::StrCat(output.stem().string(), "-", name, output.extension().string());
}

}  // namespace

absl::StatusOr<int> LocalRun::Run(const Submission& submission) {
  // Check this before the training, which may take hours.
  if (!options_.export_output.empty()) {
    CAIRN_RETURN_IF_ERROR(CheckMayExport(options_.export_output, submission.job));
  }
  CAIRN_ASSIGN_OR_RETURN(const auto lock, StateLock::Take(options_.state, "cairn run"));
  // Before the cluster and `api_` create threads.
  interrupts_ = std::make_unique<Interrupts>(
      [this] {
        if (CoordinatorApi* api = followed_) api->CancelFollow();
      },
      absl::StrCat("cairn: stopped at once; to continue from the newest checkpoint: ",
                   RunCommandAgain(options_), "\n"));
  auto exit_code = TrainAndReport(submission);
  if (interrupts_->exit_code() != 0) {
    exit_code = StopOnInterrupt();
  } else if (api_ != nullptr && !exit_code.ok()) {
    // A daemon cannot run, or the job was rejected while an earlier one continued. Save what was
    // trained. Only the first error is returned, because it is the reason of the end.
    TakeLastCheckpoint().IgnoreError();
  }
  cluster_ = nullptr;  // Stop the daemons before the lock is released.
  return exit_code;
}

absl::StatusOr<int> LocalRun::TrainAndReport(const Submission& submission) {
  CAIRN_ASSIGN_OR_RETURN(cluster_, StartCluster(submission.job.strategy()));
  api_ = std::make_unique<CoordinatorApi>(cluster_->coordinator_address(), absl::Seconds(5),
                                          CoordinatorApi::WhenRefused::kWait);
  const absl::StatusOr<proto::JobStatus> job = Train(submission);
  progress_.End();
  if (!job.ok()) return job.status();
  return Finish(*job);
}

absl::StatusOr<std::unique_ptr<LocalCluster>> LocalRun::StartCluster(
    const proto::Strategy& strategy) {
  LocalClusterOptions options;
  options.state = options_.state;
  options.programs_folder = context_.programs_folder;
  AskedTasks asked = options_.tasks;
  options.device = options_.device;
  if (job::NeedsClusterWithoutPs(strategy) && asked.ps < 0) asked.ps = 0;
  if (job::IsOfOneWorker(strategy) && asked.ps == 0) {
    if (asked.workers == 0) asked.workers = 1;
    if (options.device.empty()) options.device = absl::StrJoin(job::NamedDevices(strategy), ",");
  }
  CAIRN_ASSIGN_OR_RETURN(const AskedTasks counts, ChooseTasks(options_.state, asked));
  options.ps = counts.ps;
  options.workers = counts.workers;
  options.evaluators = counts.evaluators;
  options.environment = context_.environment;
  options.on_event = [this](const std::string& line) { progress_.Note(line); };
  options.on_failure = [this] {
    if (CoordinatorApi* api = followed_) api->CancelFollow();
  };
  const std::string tasks = TasksText(options.ps, options.workers, options.evaluators);
  CAIRN_ASSIGN_OR_RETURN(auto cluster, LocalCluster::Start(std::move(options)));
  Say(absl::StrCat("started ", tasks, "; state in ", options_.state, ", logs in ", options_.state,
                   "/logs"));
  return cluster;
}

absl::Status LocalRun::CheckGoingOn() const {
  if (interrupts_->exit_code() != 0) return absl::CancelledError("interrupted");
  return cluster_->failure();
}

absl::StatusOr<proto::SubmitReply> LocalRun::SubmitWhenReady(const Submission& submission) {
  const RealClock clock;
  const absl::Duration end = clock.Now() + kStartTimeout;
  // Short waits: while the daemons start, a failure or Ctrl-C must be noticed.
  CoordinatorApi api(cluster_->coordinator_address(), absl::Milliseconds(500));
  while (true) {
    CAIRN_RETURN_IF_ERROR(CheckGoingOn());
    std::vector<std::string> notes;
    auto reply = Submit(&api, submission, /*reuse=*/true, &notes);
    if (reply.ok() && reply->existed() &&
        (reply->status().state() == proto::FAILED || reply->status().state() == proto::CANCELLED)) {
      Say(absl::StrCat(NameOf(reply->status()), " ", StateName(reply->status().state()),
                       " before; trying again"));
      reply = Submit(&api, submission, /*reuse=*/false, &notes);
    }
    for (const std::string& note : notes) Say(note);
    const bool may_change = absl::IsUnavailable(reply.status()) || absl::IsAborted(reply.status());
    if (!may_change || clock.Now() > end) return reply;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

absl::StatusOr<proto::JobStatus> LocalRun::Train(const Submission& submission) {
  CAIRN_ASSIGN_OR_RETURN(const proto::SubmitReply reply, SubmitWhenReady(submission));
  const proto::JobStatus& job = reply.status();
  if (job.state() == proto::FINISHED) {
    Say(absl::StrCat(NameOf(job), " has already finished; nothing to do"));
  } else if (reply.existed()) {
    Say(absl::StrCat(NameOf(job), " goes on"));
  } else {
    Say(absl::StrCat(NameOf(job), " has ", job.parameters(), " parameters"));
  }
  // Set before the check: an interrupt after it cancels the Follow, and the check sees an earlier
  // one.
  followed_ = api_.get();
  CAIRN_RETURN_IF_ERROR(CheckGoingOn());
  return FollowToEnd(api_.get(), absl::StrCat(reply.job_id()), &progress_,
                     [this](absl::Duration) { return CheckGoingOn(); });
}

absl::StatusOr<int> LocalRun::Finish(const proto::JobStatus& job) {
  ClusterChoice choice;
  choice.tf_config = context_.tf_config;
  choice.user_folder = context_.user_folder;
  const std::string state = StateFlag(options_.state, choice);
  std::string model = absl::StrCat("cairn export ", job.name(), " --output FOLDER", state);
  const bool exports = !options_.export_output.empty();
  if (exports && job.state() == proto::FINISHED && !LossWarning(job).empty()) {
    Say(absl::StrCat(
        "nothing is exported, because the loss is not finite; to export it nevertheless: ", model));
  }
  const int exit_code = ReportEnd(job, options_.json, context_);
  if (exit_code != kExitDone) return exit_code;
  if (exports) {
    RemoteSource source(api_.get());
    CAIRN_ASSIGN_OR_RETURN(const TrainedModel trained,
                           ReadTrainedModel(&source, absl::StrCat(job.job_id()), 0));
    if (job::HasModels(trained.plan.job())) {
      return ExportModels(trained, absl::StrCat("cairn history ", job.name(), state));
    }
    CAIRN_ASSIGN_OR_RETURN(const nn::ExportFormat* const format,
                           ChooseExportFormat("--export", options_.export_output));
    CAIRN_ASSIGN_OR_RETURN(model, ExportModel(trained, *format, options_.export_output));
    if (options_.json) *context_.out << nlohmann::json{{"model", model}}.dump() << "\n";
  }
  Say(absl::StrCat("  model       ", model));
  Say(absl::StrCat("  checkpoint  ", job.last_checkpoint(), " in ", options_.state,
                   "; cairn checkpoints ", job.name(), state));
  Say(absl::StrCat("  history     cairn history ", job.name(), state));
  return kExitDone;
}

absl::StatusOr<int> LocalRun::ExportModels(const TrainedModel& trained,
                                           const std::string& history) {
  CAIRN_ASSIGN_OR_RETURN(const nn::ExportFormat* const format,
                         ChooseExportFormat("--export", options_.export_output));
  for (const std::string& name : nn::PartNames(trained.plan.model())) {
    TrainedModel one = trained;
    CAIRN_RETURN_IF_ERROR(SelectModel(name, &one));
    const std::filesystem::path path = OutputOfModel(options_.export_output, name);
    CAIRN_ASSIGN_OR_RETURN(const std::string file, ExportModel(one, *format, path.string()));
    if (options_.json) {
      *context_.out << nlohmann::json{{"name", name}, {"model", file}}.dump() << "\n";
    }
    Say(absl::StrCat("  ", name, "  ", file));
  }
  Say(absl::StrCat("  history  ", history));
  return kExitDone;
}

int LocalRun::StopOnInterrupt() {
  if (cluster_ == nullptr) return interrupts_->exit_code();
  Say("stopping after a checkpoint (Ctrl-C again stops at once)");
  if (api_ != nullptr && cluster_->failure().ok()) {
    const absl::Status taken = TakeLastCheckpoint();
    if (!taken.ok()) *context_.err << "cairn: no checkpoint: " << taken.message() << "\n";
  }
  cluster_->Stop(kStopGrace);
  Say(absl::StrCat("stopped; to continue: ", RunCommandAgain(options_)));
  return interrupts_->exit_code();
}

absl::Status LocalRun::TakeLastCheckpoint() {
  CAIRN_ASSIGN_OR_RETURN(const std::string checkpoint, CheckpointBeforeStop(api_.get()));
  if (!checkpoint.empty()) Say(checkpoint);
  return absl::OkStatus();
}

void LocalRun::Say(const std::string& line) const {
  if (!options_.json) *context_.out << line << std::endl;
}

}  // namespace cairn::cli

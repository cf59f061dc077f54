#ifndef CAIRN_CLI_COMMANDS_LOCAL_RUN_H_
#define CAIRN_CLI_COMMANDS_LOCAL_RUN_H_

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/commands/command.h"
#include "cli/commands/follow.h"
#include "cli/coordinator_api.h"
#include "cli/find_cluster.h"
#include "cli/interrupts.h"
#include "cli/local/local_cluster.h"
#include "cli/model/trained_model.h"
#include "cli/progress.h"
#include "cli/submission.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {

struct LocalRunOptions {
  std::string job_file;
  AskedTasks tasks;
  std::string device;  // Of the workers; empty: not given.
  std::string state = kDefaultState;
  std::string export_output;  // Empty: no export.
  bool json = false;
};

// A `cairn run`: starts a cluster on this machine, trains one job, and stops the cluster. Run is
// called once.
class LocalRun {
 public:
  LocalRun(const LocalRunOptions& options, const CommandContext& context)
      : options_(options),
        context_(context),
        progress_(ProgressFor(context, options.json), context.out) {}
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;

  // Returns the exit code. All daemons have ended when it returns.
  absl::StatusOr<int> Run(const Submission& submission);

 private:
  absl::StatusOr<int> TrainAndReport(const Submission& submission);
  // Starts the tasks that were asked for, else those that the strategy needs.
  absl::StatusOr<std::unique_ptr<LocalCluster>> StartCluster(const proto::Strategy& strategy);
  // Waits for the coordinator and submits. If the job of this name failed or was cancelled, submits
  // it again as a new job.
  absl::StatusOr<proto::SubmitReply> SubmitWhenReady(const Submission& submission);
  absl::StatusOr<proto::JobStatus> Train(const Submission& submission);
  // An error if the run must end: an interrupt, or a daemon that cannot run.
  absl::Status CheckGoingOn() const;

  absl::StatusOr<int> Finish(const proto::JobStatus& job);
  // Exports each model of a job of several.
  absl::StatusOr<int> ExportModels(const TrainedModel& trained, const std::string& history);
  int StopOnInterrupt();
  // Takes a checkpoint of the running job, if there is one.
  absl::Status TakeLastCheckpoint();

  // Prints a line for people; nothing with --json.
  void Say(const std::string& line) const;

  const LocalRunOptions options_;
  const CommandContext& context_;
  // The order matters: the last member is destroyed first, and the callbacks of the cluster and of
  // the interrupts use the other members.
  Progress progress_;
  std::unique_ptr<CoordinatorApi> api_;
  std::atomic<CoordinatorApi*> followed_ = nullptr;
  std::unique_ptr<Interrupts> interrupts_;
  std::unique_ptr<LocalCluster> cluster_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_LOCAL_RUN_H_

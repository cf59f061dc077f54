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
#include "cli/progress.h"
#include "cli/submission.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {

struct LocalRunOptions {
  std::string job_file;
  int ps = 0;  // 0: as many as the state directory was begun with, or 2.
  int workers = 2;
  std::string state = kDefaultState;
  std::string export_output;  // Empty: no export.
  bool json = false;
};

// One `cairn run`: a cluster on this machine for one job. Used once.
class LocalRun {
 public:
  LocalRun(const LocalRunOptions& options, const CommandContext& context)
      : options_(options),
        context_(context),
        progress_(ProgressFor(context, options.json), context.out) {}
  LocalRun(const LocalRun&) = delete;
  LocalRun& operator=(const LocalRun&) = delete;

  // Returns the exit code. Whatever happens no daemon is left.
  absl::StatusOr<int> Run(const Submission& submission);

 private:
  absl::StatusOr<int> TrainAndReport(const Submission& submission);
  absl::StatusOr<std::unique_ptr<LocalCluster>> StartCluster();
  // Waits for the coordinator. A job that failed or was cancelled is tried again as a new one.
  absl::StatusOr<proto::SubmitReply> SubmitPatiently(const Submission& submission);
  absl::StatusOr<proto::JobStatus> Train(const Submission& submission);
  // Why to give up: an interrupt, or a daemon that cannot run.
  absl::Status CheckGoingOn() const;

  absl::StatusOr<int> Finish(const proto::JobStatus& job);
  int StopOnInterrupt();
  // Of the job that trains, if there is one.
  absl::Status TakeLastCheckpoint();

  // Says it to people; nothing with --json.
  void Say(const std::string& line) const;

  const LocalRunOptions options_;
  const CommandContext& context_;
  // What is declared last ends first: callbacks of the cluster and of interrupts use the others.
  Progress progress_;
  std::unique_ptr<CoordinatorApi> api_;
  std::atomic<CoordinatorApi*> followed_ = nullptr;
  std::unique_ptr<Interrupts> interrupts_;
  std::unique_ptr<LocalCluster> cluster_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_LOCAL_RUN_H_

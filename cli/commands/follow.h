#ifndef CAIRN_CLI_COMMANDS_FOLLOW_H_
#define CAIRN_CLI_COMMANDS_FOLLOW_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/commands/command.h"
#include "cli/coordinator_api.h"
#include "cli/interrupts.h"
#include "cli/progress.h"
#include "common/mutex.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {

// The style of progress for this output.
ProgressOptions ProgressFor(const CommandContext& context, bool json);

// Shows a job's progress until it has ended, and returns its last status. If the stream breaks, it
// is opened again as long as `may_retry(time since it was last open)` returns OK; otherwise that
// error is returned. Errors that a retry cannot fix are returned at once.
absl::StatusOr<proto::JobStatus> FollowToEnd(
    CoordinatorApi* api, const std::string& job, Progress* progress,
    absl::FunctionRef<absl::Status(absl::Duration)> may_retry);

// Handles Ctrl-C for a command that follows a job on a cluster that it did not start: the signal
// only detaches, and the command prints how to follow the job again. Before Watch a signal ends the
// process. Create it before the process has other threads (a CoordinatorApi creates some): a signal
// on such a thread would kill the process without a message.
class DetachOnInterrupt {
 public:
  explicit DetachOnInterrupt(const CommandContext& context)
      : context_(context), interrupts_([this] { OnFirst(); }) {}
  DetachOnInterrupt(const DetachOnInterrupt&) = delete;
  DetachOnInterrupt& operator=(const DetachOnInterrupt&) = delete;

  // From now on an interrupt ends the Follow of `api`, which must outlive this object. `again` is
  // the command that follows the job again.
  void Watch(CoordinatorApi* api, const std::string& again);

  // See Interrupts::exit_code.
  int exit_code() const { return interrupts_.exit_code(); }
  std::string again() const;

 private:
  void OnFirst();

  const CommandContext& context_;
  mutable Mutex mutex_;
  CoordinatorApi* api_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::string again_ ABSL_GUARDED_BY(mutex_);
  const Interrupts interrupts_;  // Declared last: its thread uses the others.
};

// FollowToEnd that an interrupt ends; `interrupts` must watch `api`. Prints how the job ended and
// returns the exit code.
absl::StatusOr<int> FollowAndReport(CoordinatorApi* api, const std::string& job, bool json,
                                    const DetachOnInterrupt& interrupts,
                                    const CommandContext& context);

// Prints how a job ended, in one or two lines: to context.out, or to context.err if it failed. A
// last loss that is not finite adds a line to context.err. Returns the exit code.
int ReportEnd(const proto::JobStatus& job, bool json, const CommandContext& context);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_FOLLOW_H_

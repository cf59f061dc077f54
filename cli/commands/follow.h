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

// How this context wants to see progress.
ProgressOptions ProgressFor(const CommandContext& context, bool json);

// Shows a job's progress until it has ended, and returns its last status. A stream that breaks is
// opened again for as long as `may_retry(how long it has been away)` is OK; what that returns
// otherwise is returned.
absl::StatusOr<proto::JobStatus> FollowToEnd(
    CoordinatorApi* api, const std::string& job, Progress* progress,
    absl::FunctionRef<absl::Status(absl::Duration)> may_retry);

// Ctrl-C for those who follow a job on a cluster that somebody else runs: it only detaches, and
// says how to see the job again. Before Watch it ends the process. To be made before the process
// has other threads (which a CoordinatorApi makes): they would be hit by the signal and die
// silently.
class DetachOnInterrupt {
 public:
  explicit DetachOnInterrupt(const CommandContext& context)
      : context_(context), interrupts_([this] { OnFirst(); }) {}
  DetachOnInterrupt(const DetachOnInterrupt&) = delete;
  DetachOnInterrupt& operator=(const DetachOnInterrupt&) = delete;

  // From now on an interrupt ends the Follow of `api`, which must outlive this. `again` is the
  // command that shows the job again.
  void Watch(CoordinatorApi* api, const std::string& again);

  // As Interrupts'.
  int exit_code() const { return interrupts_.exit_code(); }
  std::string again() const;

 private:
  void OnFirst();

  const CommandContext& context_;
  mutable Mutex mutex_;
  CoordinatorApi* api_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::string again_ ABSL_GUARDED_BY(mutex_);
  const Interrupts interrupts_;  // The last: its thread uses the others.
};

// FollowToEnd with `interrupts`, which watch `api`. Prints how the job ended and returns the exit
// code.
absl::StatusOr<int> FollowAndReport(CoordinatorApi* api, const std::string& job, bool json,
                                    const DetachOnInterrupt& interrupts,
                                    const CommandContext& context);

// One or two lines on how a job ended: to context.out, or for a failed one to context.err, and
// there too for one whose last loss is not finite. Returns the exit code.
int ReportEnd(const proto::JobStatus& job, bool json, const CommandContext& context);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_FOLLOW_H_

#ifndef CAIRN_CLI_COMMANDS_FOLLOW_H_
#define CAIRN_CLI_COMMANDS_FOLLOW_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/commands/command.h"
#include "cli/coordinator_api.h"
#include "cli/progress.h"
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

// The same for a cluster that somebody else runs; Ctrl-C only detaches. Prints how the job ended
// and returns the exit code.
absl::StatusOr<int> FollowAndReport(CoordinatorApi* api, const std::string& job, bool json,
                                    const CommandContext& context);

// One or two lines on how a job ended: to context.out, or for a failed one to context.err. Returns
// the exit code.
int ReportEnd(const proto::JobStatus& job, bool json, const CommandContext& context);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_COMMANDS_FOLLOW_H_

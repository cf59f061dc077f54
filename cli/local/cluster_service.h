#ifndef CAIRN_CLI_LOCAL_CLUSTER_SERVICE_H_
#define CAIRN_CLI_LOCAL_CLUSTER_SERVICE_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/coordinator_api.h"
#include "cli/local/local_cluster.h"

namespace cairn::cli {

// Runs a local cluster until this process receives SIGTERM, SIGINT or SIGHUP, or until one of its
// daemons cannot run. Then takes a checkpoint of the running job and stops the daemons. A second
// signal ends all processes at once.
// `say` receives a line for every event, on any thread. Returns 128 + the signal as exit code, or
// the failure of the daemon. FailedPrecondition: the state directory is in use. Call it before the
// process has other threads.
absl::StatusOr<int> ServeCluster(LocalClusterOptions options,
                                 const std::function<void(const std::string&)>& say);

// Asks the coordinator for a checkpoint of the running job, so that its daemons may be stopped.
// Returns a line for the user, or "" if no job runs. Errors are the coordinator's.
absl::StatusOr<std::string> CheckpointBeforeStop(CoordinatorApi* api);

// The time from SIGTERM to SIGKILL when daemons are stopped.
inline constexpr absl::Duration kStopGrace = absl::Seconds(10);
// The maximum duration of CheckpointBeforeStop. A daemon may hang.
inline constexpr absl::Duration kStopCheckpointTimeout = absl::Seconds(30);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_CLUSTER_SERVICE_H_

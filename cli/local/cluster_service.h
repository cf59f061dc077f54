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

// Keeps a local cluster until this process gets SIGTERM, SIGINT or SIGHUP (or one of its daemons
// says that it can never run), and then takes a checkpoint of the job that trains and stops the
// daemons. A second signal ends all at once. `say` gets a line for everything that happens; any
// thread. Returns the exit code, 128 + the signal. FailedPrecondition: the state directory is in
// use, or belongs to another number of ps. To be called before the process has other threads.
absl::StatusOr<int> ServeCluster(LocalClusterOptions options,
                                 const std::function<void(const std::string&)>& say);

// Asks a coordinator to checkpoint the job that trains, so that its daemons may be stopped. A line
// for people, "" if no job trains; errors are the coordinator's.
absl::StatusOr<std::string> CheckpointBeforeStop(CoordinatorApi* api);

// How long daemons that were told to stop are waited for before they are killed.
inline constexpr absl::Duration kStopGrace = absl::Seconds(10);
// The longest that CheckpointBeforeStop takes: a daemon may hang.
inline constexpr absl::Duration kStopCheckpointTimeout = absl::Seconds(30);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_CLUSTER_SERVICE_H_

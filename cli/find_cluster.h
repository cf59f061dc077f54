#ifndef CAIRN_CLI_FIND_CLUSTER_H_
#define CAIRN_CLI_FIND_CLUSTER_H_

#include <memory>
#include <optional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/coordinator_api.h"
#include "cli/job_source.h"

namespace cairn::cli {

// The state directory of `cairn run` and `cairn up` without --state.
inline constexpr char kDefaultState[] = "cairn-state";

// What the user's flags and environment say about the cluster.
struct ClusterChoice {
  std::string coordinator;  // --coordinator; empty: not given.
  std::string state;        // --state; empty: not given.
  std::string tf_config;    // The environment's TF_CONFIG; empty: not set.
  std::string user_folder;  // CommandContext::user_folder, which records the last `cairn up`.
  absl::Duration patience = absl::Seconds(5);
  std::ostream* err = nullptr;  // For warnings to the user; may be null.
};

// Finds the coordinator of the user's cluster. The first of these that applies:
//   - the address of --coordinator;
//   - the cluster that runs on the directory of --state;
//   - the chief of TF_CONFIG;
//   - the cluster that runs on kDefaultState in the working directory;
//   - the cluster that the last `cairn up` of this user started.
// InvalidArgument: the address or TF_CONFIG is wrong. Unavailable: there is no such cluster; the
// message says how to name one. Does not connect.
absl::StatusOr<std::unique_ptr<CoordinatorApi>> FindCoordinator(const ClusterChoice& choice);

// The state directory of the user's cluster: --state, else one of the last two above, else
// kDefaultState. Prefers a directory whose cluster runs to one that only has data. InvalidArgument:
// --coordinator was given.
absl::StatusOr<std::string> FindState(const ClusterChoice& choice);

// The flag with which a command finds the cluster of `state`: " --state DIR", or "" if it finds
// that cluster without the flag, both while the cluster is up and after it is down. `choice` is
// what is known without flags.
std::string StateFlag(const std::string& state, const ClusterChoice& choice);

// True if FindCoordinator finds the cluster of a `cairn run`. Such a cluster ends with its own job.
bool IsOfARun(const ClusterChoice& choice);

// A JobSource with the objects that it depends on.
struct FoundSource {
  std::unique_ptr<CoordinatorApi> api;  // Null: no coordinator answers.
  std::string state;                    // If `api` is null: the directory that `source` reads.
  std::unique_ptr<JobSource> source;
};

// True if a cluster is up, is being started, or waits for the restart of its coordinator.
bool IsUp(const FoundSource& found);

// True if the job has not ended and no cluster is up that would continue it.
bool IsStopped(const FoundSource& found, const proto::JobStatus& job);

// Like FindCoordinator, for commands that only read. Reads the state directory if its cluster is
// down or its coordinator does not answer.
absl::StatusOr<FoundSource> FindSource(const ClusterChoice& choice);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_FIND_CLUSTER_H_

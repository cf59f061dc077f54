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

// Where `run` keeps things unless it is told otherwise.
inline constexpr char kDefaultState[] = "cairn-state";

// What a user has said about which cluster is meant.
struct ClusterChoice {
  std::string coordinator;  // --coordinator; empty: not said.
  std::string state;        // --state; empty: not said.
  std::string tf_config;    // The environment's TF_CONFIG; empty: not set.
  std::string user_folder;  // CommandContext's: which cluster `up` made last.
  absl::Duration patience = absl::Seconds(5);
  std::ostream* err = nullptr;  // Where people are told what is not as they expect; null: nowhere.
};

// The coordinator: by --coordinator, by --state (of a `cairn run` or `up` that runs), by
// TF_CONFIG's chief, by kDefaultState in the working directory if its cluster runs, or by what `up`
// was given last. InvalidArgument: an address or a TF_CONFIG is wrong. Unavailable: there is none;
// the message says how to name one.
absl::StatusOr<std::unique_ptr<CoordinatorApi>> FindCoordinator(const ClusterChoice& choice);

// The state directory that is meant: --state, or one of the last two above, or else kDefaultState.
// InvalidArgument: a cluster was named by its address.
absl::StatusOr<std::string> FindState(const ClusterChoice& choice);

// What a command needs in order to mean the cluster of a state directory: " --state DIR", or
// nothing if it finds that one by itself, while that cluster is up as well as when it is down.
// `choice`: what is known without flags.
std::string StateFlag(const std::string& state, const ClusterChoice& choice);

// Whether FindCoordinator means the cluster of a `cairn run`, which ends with the run's own job.
bool IsOfARun(const ClusterChoice& choice);

// A JobSource and what it stands on.
struct FoundSource {
  std::unique_ptr<CoordinatorApi> api;  // Null: no coordinator answers,
  std::string state;                    // and what follows is read from this directory.
  std::unique_ptr<JobSource> source;
};

// Whether a cluster is up, or just being started, or its coordinator is away for a moment.
bool IsUp(const FoundSource& found);

// Whether the job has not ended, and no cluster is up that would work on it.
bool IsStopped(const FoundSource& found, const proto::JobStatus& job);

// The same for commands that only read: a state directory will do, if its cluster is down.
absl::StatusOr<FoundSource> FindSource(const ClusterChoice& choice);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_FIND_CLUSTER_H_

#ifndef CAIRN_CLI_LOCAL_CLUSTER_FILE_H_
#define CAIRN_CLI_LOCAL_CLUSTER_FILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/local/state_lock.h"

namespace cairn::cli {

// STATE/cluster.json: the addresses and processes of the cluster that runs, or last ran, on a state
// directory.
struct ClusterFile {
  std::string coordinator;           // HOST:PORT
  std::vector<std::string> ps;       // By index.
  std::vector<std::string> workers;  // By index.
  std::vector<std::string> evaluators;
  int64_t cairn_pid = 0;
  // Of the tasks that ran when one was last started: "coordinator", "ps-0", "worker-1".
  std::map<std::string, int64_t> pids;

  // TF_CONFIG for one of its tasks. `type` is "chief", "ps", "worker" or "evaluator".
  std::string TfConfig(const std::string& type, int index) const;
};

// nullopt: there is no file. InvalidArgument: the file is damaged. Unavailable: see kStateMayTake.
absl::StatusOr<std::optional<ClusterFile>> ReadClusterFile(const std::string& state);
// Unavailable: its disk has not answered within `limit`.
absl::Status WriteClusterFile(const std::string& state, const ClusterFile& cluster,
                              absl::Duration limit = kStateMayTake);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_CLUSTER_FILE_H_

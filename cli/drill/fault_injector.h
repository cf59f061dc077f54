#ifndef CAIRN_CLI_DRILL_FAULT_INJECTOR_H_
#define CAIRN_CLI_DRILL_FAULT_INJECTOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/drill/drill_plan.h"
#include "cli/drill/fault_proxy.h"
#include "cli/local/cluster_file.h"
#include "cli/local/local_cluster.h"

namespace cairn::cli {

// Makes faults on a local cluster, as far as possible without root: signals, a proxy in each
// connection between tasks (only if the plan disturbs the network, because it is slower than shared
// memory), limits of the size of files, and failpoints. Not thread-safe.
class FaultInjector {
 public:
  // `state`: the state directory of the cluster.
  FaultInjector(const DrillPlan& plan, std::string state);

  // The flags that a task needs for the faults of the plan: LocalClusterOptions::more_flags.
  absl::StatusOr<std::vector<std::string>> FlagsOf(const std::string& task,
                                                   const ClusterFile& cluster);

  // Begins a fault of these tasks. False: not all of them run.
  bool Begin(const Fault& fault, const std::vector<std::string>& tasks, LocalCluster* cluster);
  // Ends a lasting fault. Does nothing for the others.
  void End(const Fault& fault, const std::vector<std::string>& tasks, LocalCluster* cluster);

  // How often the fault has taken effect since Begin: see FaultProxy, or the hits of its failpoint
  // that the task's log shows. 0 for the other means.
  int64_t CountEffects(const Fault& fault, const std::vector<std::string>& tasks) const;

 private:
  // A connection that `source` makes to `target`, both as "worker-0", "ps-1", "coordinator".
  struct Link {
    std::string source;
    std::string target;
    int id = 0;
  };

  absl::StatusOr<std::string> AddRoute(const std::string& source, const std::string& target,
                                       const std::string& address);
  void SetNetwork(const Fault& fault, const std::string& task, bool is_on);
  std::string FailpointFile(const std::string& task) const;
  std::string LogFile(const std::string& task) const;

  const bool disturbs_network_;
  const bool disturbs_files_;
  const bool has_failpoints_;
  const std::string state_;
  std::unique_ptr<FaultProxy> proxy_;  // If the plan disturbs the network.
  std::vector<Link> links_;
  // Before the current fault.
  int64_t proxy_effects_ = 0;
  int64_t log_bytes_ = 0;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_FAULT_INJECTOR_H_

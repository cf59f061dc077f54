#ifndef CAIRN_CLI_DRILL_FAULT_WATCH_H_
#define CAIRN_CLI_DRILL_FAULT_WATCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "cli/drill/drill_plan.h"
#include "proto/coordinator.pb.h"

namespace cairn::cli {

// The number of batches that the job reported as done at one moment of the drill. It decreases with
// a rollback.
struct ProgressPoint {
  double seconds = 0;
  int64_t batches = 0;
};

// Batches per second between the newest point and the newest one that is at least `window` seconds
// older. nullopt: that one is older than `since`, or there is none.
std::optional<double> BatchRate(const std::vector<ProgressPoint>& progress, double since,
                                double window);

// Whether the coordinator, or for a fault of the coordinator its clients, has noticed the fault.
// `before` is the cluster just before the fault; `now` is nullopt if the coordinator does not
// answer.
bool IsNoticed(const Fault& fault, const proto::ClusterStatus& before,
               const std::optional<proto::ClusterStatus>& now);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_FAULT_WATCH_H_

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

// Batches per second before the first fault, and from there on.
struct Throughput {
  double without_faults = 0;
  double under_faults = 0;
};

// nullopt: there is not enough progress before or after `first_fault`, the time of the first one.
std::optional<Throughput> MeasureThroughput(const std::vector<ProgressPoint>& progress,
                                            double first_fault);

// The state of cluster and job at one moment.
struct DrillState {
  std::optional<proto::ClusterStatus> cluster;  // nullopt: the coordinator does not answer.
  proto::JobStatus job;                         // The last one that is known.
};

// Whether the coordinator, or for a fault of the coordinator its clients, has noticed the fault.
// `before`: just before the fault, with a cluster. False for faults that need not be noticed.
bool IsNoticed(const Fault& fault, const DrillState& before, const DrillState& now);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_FAULT_WATCH_H_

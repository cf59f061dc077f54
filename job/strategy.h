#ifndef CAIRN_JOB_STRATEGY_H_
#define CAIRN_JOB_STRATEGY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/job.pb.h"

namespace cairn::job {

// A strategy says where the parameters of a job are and which tasks compute. It never changes the
// numbers: with the same batches per update, all synchronous strategies end with the same bits.

// The maximum number of batches of a synchronous update. The batches of an update stay leased until
// it is applied, so several updates must fit into the 65,536 batches that a ledger covers. A
// cluster has at most as many workers, which is the default.
inline constexpr int64_t kBatchesPerUpdateMax = 4096;

// The maximum number of devices of a worker.
inline constexpr int kDevicesMax = 64;

// What TF_CONFIG says of a cluster.
struct ClusterShape {
  bool has_ps = true;  // Else the workers hold the parameters.
  int64_t workers = 0;
};

// How the batches of a job become updates; see JobPlan.
struct UpdateNumbers {
  bool synchronous = false;
  // 0: as many as the cluster has devices when the job is submitted.
  int64_t batches_per_update = 1;
  int64_t window = -1;
};

// "parameter_server", "mirrored" ...; the default is "parameter_server".
std::string StrategyName(const proto::Strategy& strategy);

// The fields of a strategy, without regard to a cluster.
absl::Status CheckStrategy(const proto::Strategy& strategy);

// Whether jobs with this strategy run in such a cluster. The message says what to change.
absl::Status CheckStrategyFits(const proto::Strategy& strategy, const ClusterShape& cluster);

// Whether the worker of a strategy of one worker has the devices that the strategy names.
absl::Status CheckDevicesFit(const proto::Strategy& strategy,
                             const std::vector<std::string>& devices);

// Requires CheckStrategy.
UpdateNumbers UpdateNumbersOf(const proto::Strategy& strategy);

// Whether all devices are of one worker.
bool IsOfOneWorker(const proto::Strategy& strategy);

// Whether each worker has a replica of all parameters, in a cluster of several workers.
bool KeepsReplicas(const proto::Strategy& strategy);

// Whether it runs only in clusters without ps.
bool NeedsClusterWithoutPs(const proto::Strategy& strategy);

// The devices that the strategy names, possibly none.
std::vector<std::string> NamedDevices(const proto::Strategy& strategy);

// "cpu" or "cpu:3".
bool IsDeviceName(const std::string& name);

}  // namespace cairn::job

#endif  // CAIRN_JOB_STRATEGY_H_

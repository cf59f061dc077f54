#ifndef CAIRN_WORKER_STRATEGY_CREATE_STRATEGY_H_
#define CAIRN_WORKER_STRATEGY_CREATE_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cluster/ps_client.h"
#include "nn/executor.h"
#include "nn/model.h"
#include "proto/coordinator.pb.h"
#include "worker/strategy/strategy.h"

namespace cairn::worker {

// The cluster that a strategy works in, from the coordinator's Welcome.
struct ClusterInfo {
  uint64_t cluster_id = 0;
  std::string task;                       // This task: "worker 3".
  std::vector<std::string> ps_addresses;  // By index.
  cluster::PsClientOptions::Own own_ps = {};
};

struct StrategyOptions {
  nn::Executor* executor = nullptr;            // Of training. Null: this task only evaluates.
  int64_t gradient_memory = int64_t{1} << 30;  // Bytes; see GradientPusher.
  Strategy::OnApplied on_applied;
};

// Creates the strategy that the job's plan names, for one generation of the job. It makes its own
// connections. `model` and the executor must outlive it. InvalidArgument: the plan fits neither the
// model nor the cluster, or this worker does not know the strategy.
absl::StatusOr<std::unique_ptr<Strategy>> CreateStrategy(const proto::StartJob& job,
                                                         const nn::Model& model,
                                                         const ClusterInfo& cluster,
                                                         StrategyOptions options);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_STRATEGY_CREATE_STRATEGY_H_

#include "worker/strategy/create_strategy.h"

#include <utility>

#include "cluster/ps_client.h"
#include "worker/strategy/parameter_server_strategy.h"

namespace cairn::worker {

absl::StatusOr<std::unique_ptr<Strategy>> CreateStrategy(const proto::StartJob& job,
                                                         const nn::Model& model,
                                                         const ClusterInfo& cluster,
                                                         StrategyOptions options) {
  switch (job.plan().job().strategy().kind_case()) {
    case proto::Strategy::kParameterServer:
    // Their parameters are on ps that are parts of worker processes.
    case proto::Strategy::kMultiWorkerMirrored:
    case proto::Strategy::kMirrored:
    case proto::Strategy::kCentralStorage:
    case proto::Strategy::kOneDevice:
    case proto::Strategy::KIND_NOT_SET: {
      cluster::PsClientOptions client;
      client.addresses = cluster.ps_addresses;
      client.cluster_id = cluster.cluster_id;
      client.sender = cluster.task;
      client.own = cluster.own_ps;
      return ParameterServerStrategy::Create(job.plan(), job.generation(), model, options.executor,
                                             std::make_shared<cluster::PsClient>(client),
                                             options.gradient_memory,
                                             std::move(options.on_applied));
    }
  }
  return absl::InvalidArgumentError("the plan has a strategy that this worker does not know");
}

}  // namespace cairn::worker

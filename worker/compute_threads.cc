#include "worker/compute_threads.h"

#include <algorithm>
#include <optional>

namespace cairn::worker {

int ComputeThreads::Of(const proto::JobPlan& plan) const {
  if (said > 0) return said;
  return plan.synchronous() ? 1 : share;
}

int ShareOfCores(const cluster::TfConfig& config, int cores) {
  const std::optional<cluster::Address> own = config.OwnAddress();
  if (!own) return 1;
  int beside = 0;
  for (const auto* tasks : {&config.workers, &config.evaluators}) {
    for (const auto& [index, address] : *tasks) beside += address.host == own->host;
  }
  return std::max(1, cores / std::max(1, beside));
}

}  // namespace cairn::worker

#ifndef CAIRN_CLUSTER_GRPC_STATUS_H_
#define CAIRN_CLUSTER_GRPC_STATUS_H_

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace cairn::cluster {

// The codes are the same on both sides; messages are kept (shortened to what fits into a trailer).
absl::Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

// Whether the same call may succeed later without anything being changed: UNAVAILABLE,
// DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, and DATA_LOSS (a frame that was changed under way).
bool IsTransient(const absl::Status& status);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_STATUS_H_

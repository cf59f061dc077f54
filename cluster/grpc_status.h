#ifndef CAIRN_CLUSTER_GRPC_STATUS_H_
#define CAIRN_CLUSTER_GRPC_STATUS_H_

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace cairn::cluster {

// Convert between gRPC's and Abseil's status. Codes are equal; long messages are truncated to fit
// into an HTTP/2 trailer. An UNKNOWN or INTERNAL that no ToGrpc has made is gRPC's own and says
// that the connection broke or its bytes were damaged: FromGrpc returns UNAVAILABLE. The same holds
// for a status whose code was damaged.
absl::Status FromGrpc(const grpc::Status& status);
grpc::Status ToGrpc(const absl::Status& status);

// True if the status is that of a Cairn server: OK, or made by ToGrpc. Otherwise gRPC made it,
// because the server was not reached or the connection failed.
bool IsFromServer(const grpc::Status& status);

// Whether the same call may succeed later without a change of its arguments: UNAVAILABLE,
// DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, and DATA_LOSS (a frame that was corrupted in transit).
bool IsTransient(const absl::Status& status);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_STATUS_H_

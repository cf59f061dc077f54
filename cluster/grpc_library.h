#ifndef CAIRN_CLUSTER_GRPC_LIBRARY_H_
#define CAIRN_CLUSTER_GRPC_LIBRARY_H_

namespace cairn::cluster {

// Keeps the gRPC library initialized until the process exits. Otherwise gRPC stops all of its
// threads when the last channel or server is destroyed, which can take 10 s because one of its
// pollers cannot be woken. Call it before creating a channel or a server. Thread-safe and
// idempotent.
void KeepGrpcRunning();

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_LIBRARY_H_

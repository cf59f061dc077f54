#ifndef CAIRN_CLUSTER_GRPC_LIBRARY_H_
#define CAIRN_CLUSTER_GRPC_LIBRARY_H_

namespace cairn::cluster {

// Keeps gRPC's library running until the process ends. Without it gRPC stops all of its threads
// whenever the last channel or server goes away, which may take it 10 s: a poller that helps large
// writes sleeps that long, and nothing wakes it. Everything that makes a channel or a server calls
// this first. Any thread, any number of times.
void KeepGrpcRunning();

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_LIBRARY_H_

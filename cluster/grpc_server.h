#ifndef CAIRN_CLUSTER_GRPC_SERVER_H_
#define CAIRN_CLUSTER_GRPC_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "cluster/listener.h"

namespace grpc {
class Server;
class ServerBuilder;
}  // namespace grpc

namespace cairn::cluster {

// The common part of ControlServer and DataServer: health checking, reflection, message sizes,
// keepalive, exclusive use of the port, and a listener that survives a shortage of file
// descriptors. Thread-safe after Start.
class GrpcServer {
 public:
  GrpcServer();
  // Calls Shutdown.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // Add services and completion queues before Start.
  grpc::ServerBuilder& builder() { return *builder_; }

  // Starts serving. Must be called at most once. Errors: see Listener::Listen.
  absl::Status Start(const std::string& address);
  bool started() const { return server_ != nullptr; }

  // The bound port. Requires that Start has succeeded.
  int port() const { return listener_->port(); }

  // Rejects new connections and calls, and returns when all calls have ended. Calls that still run
  // after `grace` are cancelled. Idempotent.
  void Shutdown(absl::Duration grace);

 private:
  std::unique_ptr<grpc::ServerBuilder> builder_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_SERVER_H_

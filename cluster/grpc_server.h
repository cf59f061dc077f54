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

// What both kinds of server share: health service, reflection, message sizes, keepalive, a port
// that no other process can listen on, and a listener that survives a lack of file descriptors.
// Thread-safe once it is started.
class GrpcServer {
 public:
  GrpcServer();
  // Shuts down, if it was started.
  ~GrpcServer();
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;

  // Where services and completion queues are added before Start.
  grpc::ServerBuilder& builder() { return *builder_; }

  // Once. Serves when it returns. Errors: as Listener::Listen.
  absl::Status Start(const std::string& address);
  bool started() const { return server_ != nullptr; }

  // The bound port, after Start.
  int port() const { return listener_->port(); }

  // Takes no more connections and calls, and returns when all calls have ended; those still running
  // after `grace` are cancelled. May be called more than once.
  void Shutdown(absl::Duration grace);

 private:
  std::unique_ptr<grpc::ServerBuilder> builder_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Listener> listener_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_SERVER_H_

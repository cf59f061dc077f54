#ifndef CAIRN_CLUSTER_CONTROL_SERVER_H_
#define CAIRN_CLUSTER_CONTROL_SERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cluster/grpc_server.h"

namespace grpc {
class Service;
}  // namespace grpc

namespace cairn::cluster {

// Serves given (callback) services with gRPC's health service and reflection beside them: the
// control plane, and the health checks of workers, which serve nothing else. Thread-safe.
class ControlServer {
 public:
  // `address` is HOST:PORT, port 0: any free one. The services must outlive the server; there may
  // be none. AlreadyExists: the port is in use. Unavailable: the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<ControlServer>> Start(
      const std::string& address, const std::vector<grpc::Service*>& services);
  // Shuts down.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  int port() const { return server_.port(); }

  // Returns when all calls have ended; those still running after `grace` are cancelled (their
  // reactors must react to that by finishing). May be called more than once.
  void Shutdown(absl::Duration grace = absl::Milliseconds(200));

 private:
  ControlServer() = default;
  GrpcServer server_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_CONTROL_SERVER_H_

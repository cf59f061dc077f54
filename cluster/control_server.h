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

// A gRPC server for callback services, with health checking and reflection. The coordinator serves
// the control plane with it; a worker has no service of its own and serves only health checks.
// Thread-safe.
class ControlServer {
 public:
  // Starts serving on `address` (HOST:PORT; port 0 chooses a free port). `services` may be empty,
  // and must outlive the server. AlreadyExists: the port is in use. Unavailable: the address cannot
  // be bound.
  static absl::StatusOr<std::unique_ptr<ControlServer>> Start(
      const std::string& address, const std::vector<grpc::Service*>& services);
  // Calls Shutdown.
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  int port() const { return server_.port(); }

  // Returns when all calls have ended. Calls that still run after `grace` are cancelled; their
  // reactors must then finish. Idempotent.
  void Shutdown(absl::Duration grace = absl::Milliseconds(200));

 private:
  ControlServer() = default;
  GrpcServer server_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_CONTROL_SERVER_H_

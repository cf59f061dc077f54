#ifndef CAIRN_CLUSTER_GRPC_SERVER_SETUP_H_
#define CAIRN_CLUSTER_GRPC_SERVER_SETUP_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace grpc {
class Server;
class ServerBuilder;
}  // namespace grpc

namespace cairn::cluster {

// What both kinds of server share: health service, reflection, message sizes, keepalive, and that
// no other process can listen on the same port.
class GrpcServerSetup {
 public:
  explicit GrpcServerSetup(const std::string& address);
  ~GrpcServerSetup();

  // Where services and completion queues are added.
  grpc::ServerBuilder& builder() { return *builder_; }

  // Once. Serves when it returns. InvalidArgument: not an address. AlreadyExists: the port is in
  // use. Unavailable: it cannot be bound for another reason.
  absl::StatusOr<std::unique_ptr<grpc::Server>> Build();

  // The bound port, after Build.
  int port() const { return port_; }

 private:
  const std::string address_;
  std::unique_ptr<grpc::ServerBuilder> builder_;
  int port_ = 0;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_GRPC_SERVER_SETUP_H_

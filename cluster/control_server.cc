#include "cluster/control_server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <utility>

#include "cluster/grpc_server_setup.h"

namespace cairn::cluster {

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Start(
    const std::string& address, const std::vector<grpc::Service*>& services) {
  GrpcServerSetup setup(address);
  for (grpc::Service* service : services) setup.builder().RegisterService(service);
  absl::StatusOr<std::unique_ptr<grpc::Server>> server = setup.Build();
  if (!server.ok()) return server.status();
  return std::unique_ptr<ControlServer>(new ControlServer(*std::move(server), setup.port()));
}

ControlServer::ControlServer(std::unique_ptr<grpc::Server> server, int port)
    : server_(std::move(server)), port_(port) {}

ControlServer::~ControlServer() { Shutdown(); }

void ControlServer::Shutdown(absl::Duration grace) {
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(grace));
}

}  // namespace cairn::cluster

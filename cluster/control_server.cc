#include "cluster/control_server.h"

#include <grpcpp/server_builder.h>

#include <utility>

#include "common/status_macros.h"

namespace cairn::cluster {
namespace {

// How much of a stream gRPC receives before it is read. There are thousands of streams.
constexpr int kLookaheadBytes = 256 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<ControlServer>> ControlServer::Start(
    const std::string& address, const std::vector<grpc::Service*>& services) {
  std::unique_ptr<ControlServer> server(new ControlServer());
  server->server_.builder().AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES,
                                               kLookaheadBytes);
  for (grpc::Service* service : services) server->server_.builder().RegisterService(service);
  CAIRN_RETURN_IF_ERROR(server->server_.Start(address));
  return server;
}

ControlServer::~ControlServer() { Shutdown(); }

void ControlServer::Shutdown(absl::Duration grace) { server_.Shutdown(grace); }

}  // namespace cairn::cluster

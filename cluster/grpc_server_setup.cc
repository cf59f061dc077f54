#include "cluster/grpc_server_setup.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/address.h"
#include "cluster/grpc_library.h"
#include "cluster/tensor_codec.h"
#include "common/status_macros.h"

namespace cairn::cluster {
namespace {

constexpr int kKeepaliveMilliseconds = 5000;
constexpr int kPingIntervalMinMilliseconds = 1000;
constexpr int kHttp2FrameBytes = (1 << 24) - 1;
constexpr int kLookaheadBytes = 64 << 20;

// Both are looked at by the constructor of a ServerBuilder.
std::unique_ptr<grpc::ServerBuilder> MakeBuilder() {
  KeepGrpcRunning();
  static const bool plugins = [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
    return true;
  }();
  static_cast<void>(plugins);
  return std::make_unique<grpc::ServerBuilder>();
}

// gRPC says only that it failed: try the same again to learn why.
absl::Status WhyNotBound(const Address& address) {
  const std::string port = absl::StrCat(address.port);
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found); error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address.ToString(), ": ", gai_strerror(error)));
  }
  const int handle = socket(found->ai_family, found->ai_socktype, found->ai_protocol);
  const int reuse = 1;
  setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse));
  const int error = bind(handle, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
  freeaddrinfo(found);
  close(handle);
  if (error == EADDRINUSE) {
    return absl::AlreadyExistsError(
        absl::StrCat("cannot listen on ", address.ToString(),
                     ": another process does; stop it or choose another port"));
  }
  return absl::UnavailableError(absl::StrCat("cannot listen on ", address.ToString(), ": ",
                                             error == 0 ? "try again" : std::strerror(error)));
}

}  // namespace

GrpcServerSetup::GrpcServerSetup(const std::string& address)
    : address_(address), builder_(MakeBuilder()) {
  builder_->SetMaxReceiveMessageSize(kFrameBytesMax);
  builder_->SetMaxSendMessageSize(kFrameBytesMax);
  builder_->AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder_->AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttp2FrameBytes);
  builder_->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  builder_->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder_->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMilliseconds);
  builder_->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder_->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder_->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kPingIntervalMinMilliseconds);
}

GrpcServerSetup::~GrpcServerSetup() = default;

absl::StatusOr<std::unique_ptr<grpc::Server>> GrpcServerSetup::Build() {
  CAIRN_ASSIGN_OR_RETURN(const Address address, ParseAddress(address_, /*allow_port_zero=*/true));
  builder_->AddListeningPort(address.ToString(), grpc::InsecureServerCredentials(), &port_);
  std::unique_ptr<grpc::Server> server = builder_->BuildAndStart();
  if (server == nullptr || port_ == 0) return WhyNotBound(address);
  return server;
}

}  // namespace cairn::cluster

#include "cluster/grpc_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "cluster/frame.h"
#include "cluster/grpc_library.h"
#include "common/status_macros.h"

namespace cairn::cluster {
namespace {

constexpr int kKeepaliveMilliseconds = 5000;
constexpr int kPingIntervalMinMilliseconds = 1000;
constexpr int kHttp2FrameBytes = (1 << 24) - 1;
constexpr int kLookaheadBytes = 64 << 20;

// The constructor of ServerBuilder reads both settings, so they must be made before it runs.
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

}  // namespace

GrpcServer::GrpcServer() : builder_(MakeBuilder()) {
  builder_->SetMaxReceiveMessageSize(kFrameBytesMax);
  builder_->SetMaxSendMessageSize(kFrameBytesMax);
  builder_->AddChannelArgument(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttp2FrameBytes);
  builder_->AddChannelArgument(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  builder_->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  builder_->AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMilliseconds);
  builder_->AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder_->AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder_->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kPingIntervalMinMilliseconds);
}

GrpcServer::~GrpcServer() { Shutdown(absl::ZeroDuration()); }

absl::Status GrpcServer::Start(const std::string& address) {
  CAIRN_ASSIGN_OR_RETURN(listener_, Listener::Listen(address));
  server_ = builder_->BuildAndStart();
  if (server_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve on ", address, ": gRPC gives no reason"));
  }
  listener_->Start([server = server_.get()](int descriptor) {
    grpc::AddInsecureChannelFromFd(server, descriptor);
  });
  return absl::OkStatus();
}

void GrpcServer::Shutdown(absl::Duration grace) {
  if (!started()) return;
  listener_->Stop();
  server_->Shutdown(std::chrono::system_clock::now() + absl::ToChronoMicroseconds(grace));
}

}  // namespace cairn::cluster

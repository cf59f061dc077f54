#include "cluster/rpc_channel.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <thread>

#include "cluster/frame.h"
#include "cluster/grpc_library.h"
#include "cluster/grpc_status.h"
#include "common/random.h"

namespace cairn::cluster {
namespace {

constexpr int kKeepaliveMilliseconds = 5000;
constexpr int kReconnectFirstMilliseconds = 50;
constexpr int kReconnectMaxMilliseconds = 1000;
constexpr int kConnectTimeoutMilliseconds = 5000;
// The maximum of HTTP/2. Large HTTP/2 frames make pushes 1.3 times as fast.
constexpr int kHttp2FrameBytes = (1 << 24) - 1;
constexpr int kLookaheadBytes = 64 << 20;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kFrameBytesMax);
  arguments.SetMaxSendMessageSize(kFrameBytesMax);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttp2FrameBytes);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kLookaheadBytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMilliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMilliseconds);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectFirstMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMaxMilliseconds);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectTimeoutMilliseconds);
  // Do not share the connection with other channels to this address.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Retries are made by CallWithRetry and PsClient.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  return arguments;
}

// Not changed after the first channel.
std::map<std::string, std::string>& Routes() {
  static auto* const routes = new std::map<std::string, std::string>();
  return *routes;
}

std::chrono::system_clock::time_point DeadlineIn(absl::Duration timeout) {
  return absl::ToChronoTime(absl::Now() + timeout);
}

}  // namespace

std::shared_ptr<grpc::Channel> CreateChannel(const std::string& address) {
  KeepGrpcRunning();
  return grpc::CreateCustomChannel(RouteOf(address), grpc::InsecureChannelCredentials(),
                                   Arguments());
}

void RouteChannels(const std::string& address, const std::string& route) {
  Routes()[address] = route;
}

std::string RouteOf(const std::string& address) {
  const auto route = Routes().find(address);
  return route == Routes().end() ? address : route->second;
}

Backoff::Backoff(absl::Duration first, absl::Duration max, uint64_t seed)
    : first_(first), max_(max), seed_(seed) {}

absl::Duration Backoff::Next() {
  constexpr int kDoublingsMax = 30;  // Keeps the factor finite; max_ is reached much earlier.
  const double factor = std::ldexp(1.0, std::min(attempts_++, kDoublingsMax));
  const absl::Duration delay = std::min(first_ * factor, max_);
  return delay * (0.5 + 0.5 * RandomUniform(seed_, draws_++));
}

uint64_t RandomSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

absl::Status CallWithRetry(const RetryPolicy& policy,
                           absl::FunctionRef<grpc::Status(grpc::ClientContext*)> call) {
  const absl::Time give_up = absl::Now() + policy.give_up_after;
  Backoff backoff(policy.first_delay, policy.max_delay, RandomSeed());
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(DeadlineIn(policy.attempt_timeout));
    const absl::Status status = FromGrpc(call(&context));
    if (status.ok() || !IsTransient(status)) return status;
    const absl::Duration delay = backoff.Next();
    if (absl::Now() + delay >= give_up) return status;
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(delay));
  }
}

}  // namespace cairn::cluster

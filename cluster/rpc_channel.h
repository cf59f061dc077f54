#ifndef CAIRN_CLUSTER_RPC_CHANNEL_H_
#define CAIRN_CLUSTER_RPC_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"

namespace grpc {
class Channel;
class ClientContext;
class Status;
}  // namespace grpc

namespace cairn::cluster {

// Creates a channel with Cairn's arguments: message sizes up to kFrameBytesMax, keepalive (a
// connection breaks after 10 s of silence), fast reconnection, no proxy, and a connection that is
// not shared with other channels. Connects on first use; never fails.
std::shared_ptr<grpc::Channel> CreateChannel(const std::string& address);

// For tests: from now on, channels to `address` connect to `route` instead, for example to a proxy
// that disturbs the connection. Call it before the first channel is created.
void RouteChannels(const std::string& address, const std::string& route);
// The address that a channel to `address` connects to.
std::string RouteOf(const std::string& address);

// Delays between attempts. They double from `first` to `max`; each is drawn uniformly from [delay /
// 2, delay], so that clients that lost the same server do not reconnect simultaneously. Not
// thread-safe.
class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration max, uint64_t seed);
  absl::Duration Next();
  // Call after a success.
  void Reset() { attempts_ = 0; }

 private:
  const absl::Duration first_;
  const absl::Duration max_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  int attempts_ = 0;
};

// A seed that differs between processes and between calls.
uint64_t RandomSeed();

struct RetryPolicy {
  absl::Duration attempt_timeout = absl::Seconds(10);
  // No attempt starts after this time.
  absl::Duration give_up_after = absl::Seconds(30);
  absl::Duration first_delay = absl::Milliseconds(50);
  absl::Duration max_delay = absl::Seconds(1);
};

// Makes an idempotent call repeatedly until it succeeds, fails with an error that is not transient
// (see IsTransient), or policy.give_up_after has passed. Blocks. `call` gets a context with the
// deadline of the attempt. For the unary calls of `cairn`.
absl::Status CallWithRetry(const RetryPolicy& policy,
                           absl::FunctionRef<grpc::Status(grpc::ClientContext*)> call);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_RPC_CHANNEL_H_

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

// A channel to `address` with Cairn's arguments: message sizes up to kFrameBytesMax, keepalive (a
// peer that is silent for 10 s is given up), quick reconnection, no proxy, a connection of its own.
// Connects when first used; never fails.
std::shared_ptr<grpc::Channel> CreateChannel(const std::string& address);

// Delays between attempts: doubling from `first` to `max`, each drawn from [delay / 2, delay], so
// that those who lost the same server do not come back together. Not thread-safe.
class Backoff {
 public:
  Backoff(absl::Duration first, absl::Duration max, uint64_t seed);
  absl::Duration Next();
  // After a success.
  void Reset() { attempts_ = 0; }

 private:
  const absl::Duration first_;
  const absl::Duration max_;
  const uint64_t seed_;
  uint64_t draws_ = 0;
  int attempts_ = 0;
};

// A seed that differs between processes and calls.
uint64_t RandomSeed();

struct RetryPolicy {
  absl::Duration attempt_timeout = absl::Seconds(10);
  // No attempt starts after this.
  absl::Duration give_up_after = absl::Seconds(30);
  absl::Duration first_delay = absl::Milliseconds(50);
  absl::Duration max_delay = absl::Seconds(1);
};

// Makes a call that may be made more than once, blocking, until it succeeds, fails for good (see
// IsTransient) or the time is over. `call` gets a context with the attempt's deadline set. For the
// unary calls of `cairn`.
absl::Status CallWithRetry(const RetryPolicy& policy,
                           absl::FunctionRef<grpc::Status(grpc::ClientContext*)> call);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_RPC_CHANNEL_H_

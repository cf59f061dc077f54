#ifndef CAIRN_TESTS_BENCHMARKS_LIGHT_SESSION_H_
#define CAIRN_TESTS_BENCHMARKS_LIGHT_SESSION_H_

#include <grpcpp/generic/generic_stub.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cluster/rpc_channel.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "proto/coordinator.pb.h"

namespace cairn::benchmarks {

// A task's stream to a real coordinator, as cluster::TaskSession makes it: it joins, sends
// heartbeats, and joins again when the stream breaks, with the same delays. It has its own
// connection but no thread, so one process can run a thousand of them. Large commands (plans) are
// parsed once per process, and handled without the model and the partition. Thread-safe.
class LightSession {
 public:
  using Messages = std::vector<proto::TaskMessage>;
  // All are called under the session's lock.
  struct Behavior {
    std::function<proto::Join()> make_join;
    // Every command, Welcome included, except heartbeats.
    std::function<void(const proto::Command&, absl::Duration now, Messages*)> handle;
    std::function<void(absl::Duration now, Messages*)> tick;  // May be null.
    std::function<void()> disconnected;                       // May be null.
  };

  // Starts to join.
  LightSession(const std::string& coordinator, Behavior behavior);
  // Leaves.
  ~LightSession();
  LightSession(const LightSession&) = delete;
  LightSession& operator=(const LightSession&) = delete;

  // Calls `tick`, sends what is due, and connects again if that is due. Call it some tens of times
  // per second.
  void Tick();

  // Whether it has a stream on which it was welcomed.
  bool joined();
  // How often a stream of it has ended.
  int breaks();

 private:
  class Stream;

  void Connect();
  void OnRead(bool ok, const grpc::ByteBuffer& in);
  void OnWritten(bool ok);
  void OnEnded();
  bool NextOut() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Behavior behavior_;
  const uint64_t instance_id_ = cluster::RandomSeed();
  const RealClock clock_;
  grpc::GenericStub stub_;
  std::unique_ptr<Stream> stream_;  // Replaced by Tick, when it has ended.

  Mutex mutex_;
  ConditionVariable changed_;
  cluster::Backoff backoff_ ABSL_GUARDED_BY(mutex_);
  std::deque<proto::TaskMessage> outbox_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool joined_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
  bool released_ ABSL_GUARDED_BY(mutex_) = false;  // The stream's hold.
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  int breaks_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t term_seen_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration next_heartbeat_ ABSL_GUARDED_BY(mutex_);
  absl::Duration connect_at_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::benchmarks

#endif  // CAIRN_TESTS_BENCHMARKS_LIGHT_SESSION_H_

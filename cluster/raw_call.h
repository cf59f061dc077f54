#ifndef CAIRN_CLUSTER_RAW_CALL_H_
#define CAIRN_CLUSTER_RAW_CALL_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cluster/frame.h"

namespace cairn::cluster {

// The methods of proto::ParameterServer.
enum class DataMethod { kPull, kPush, kUpload, kFetch };

// One request of the data plane, waiting for its answer. Whoever owns it answers once, at once or
// any time later, on any thread; whoever destroys it unanswered answers UNAVAILABLE. One thread at
// a time.
class RawCall {
 public:
  // Called exactly once, from Reply, Fail or the destructor. Does not block.
  using Done = absl::AnyInvocable<void(absl::StatusOr<Frame>)>;
  // Whether the client is gone. Any thread.
  using Abandoned = absl::AnyInvocable<bool() const>;

  // DataServer makes these; so do tests of services, without a network.
  RawCall(DataMethod method, Frame request, std::string peer, Done done,
          Abandoned abandoned = nullptr);
  ~RawCall();
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;

  DataMethod method() const { return method_; }
  // "ipv4:127.0.0.1:40312"; for messages.
  const std::string& peer() const { return peer_; }
  // The request, once: a call that is parked should not keep its memory.
  Frame TakeRequest() { return std::move(request_); }

  // Once, one of the two. A reply may be large: it refers to memory, see FramePiece.
  void Reply(Frame reply);
  void Fail(const absl::Status& status);

  // True when nobody waits for the answer any more (cancelled, deadline, connection lost): a parked
  // call may be dropped then.
  bool abandoned() const;

 private:
  const DataMethod method_;
  Frame request_;
  const std::string peer_;
  Done done_;
  Abandoned abandoned_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_RAW_CALL_H_

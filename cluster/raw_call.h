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

// The methods of proto::ParameterServer. DataServer answers kPing itself.
enum class DataMethod { kPull, kPush, kUpload, kFetch, kPing };

// A request of the data plane that waits for its reply. The owner replies exactly once, at any time
// and on any thread. A call that is destroyed without a reply is answered with UNAVAILABLE. Not
// thread-safe, except cancelled().
class RawCall {
 public:
  // Called exactly once, by Reply, Fail or the destructor. Must not block.
  using Done = absl::AnyInvocable<void(absl::StatusOr<Frame>)>;
  // Whether the client has cancelled the call. Called on any thread.
  using IsCancelled = absl::AnyInvocable<bool() const>;

  // Created by DataServer, and by tests that call a service without a network.
  RawCall(DataMethod method, Frame request, std::string peer, Done done,
          IsCancelled cancelled = nullptr);
  ~RawCall();
  RawCall(const RawCall&) = delete;
  RawCall& operator=(const RawCall&) = delete;

  DataMethod method() const { return method_; }
  // The client's address for messages: "ipv4:127.0.0.1:40312", or
  // "worker 3 of this process".
  const std::string& peer() const { return peer_; }
  // Moves the request out; call it at most once. A parked call should not keep the request's
  // memory. The tensors of a frame within this process are valid while the handler runs.
  Frame TakeRequest() { return std::move(request_); }

  // Sends the reply or the error; exactly one of them must be called, once. The reply references
  // memory, see FramePiece.
  void Reply(Frame reply);
  void Fail(const absl::Status& status);

  // True if the client no longer waits for the reply (cancelled, deadline exceeded, disconnected).
  // A parked call may then be dropped.
  bool cancelled() const;

 private:
  const DataMethod method_;
  Frame request_;
  const std::string peer_;
  Done done_;
  IsCancelled cancelled_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_RAW_CALL_H_

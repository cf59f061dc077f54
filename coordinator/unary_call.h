#ifndef CAIRN_COORDINATOR_UNARY_CALL_H_
#define CAIRN_COORDINATOR_UNARY_CALL_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cluster/grpc_status.h"
#include "common/mutex.h"

namespace cairn::coordinator {

// A unary call that is answered later, or never: then it ends when the client goes away or the
// server shuts down. Answer may be called at any time, even after the call has ended. Owns itself
// as long as gRPC needs it. Thread-safe.
template <typename Reply>
class UnaryCall final : public grpc::ServerUnaryReactor,
                        public std::enable_shared_from_this<UnaryCall<Reply>> {
 public:
  // `reply` belongs to the call.
  static std::shared_ptr<UnaryCall> Start(Reply* reply) {
    std::shared_ptr<UnaryCall> call(new UnaryCall(reply));
    call->self_ = call;
    return call;
  }

  void Answer(absl::StatusOr<Reply> result) {
    const auto self = this->shared_from_this();  // OnDone may come before Finish returns.
    {
      MutexLock lock(&mutex_);
      if (answered_) return;
      answered_ = true;
      if (result.ok()) *reply_ = *std::move(result);
    }
    Finish(cluster::ToGrpc(result.status()));
  }

  void OnCancel() override { Answer(absl::CancelledError("the call was cancelled")); }
  void OnDone() override { self_.reset(); }

 private:
  explicit UnaryCall(Reply* reply) : reply_(reply) {}

  Mutex mutex_;
  bool answered_ ABSL_GUARDED_BY(mutex_) = false;
  Reply* const reply_;
  std::shared_ptr<UnaryCall> self_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_UNARY_CALL_H_

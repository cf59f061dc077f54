#ifndef CAIRN_COORDINATOR_INFERENCE_STREAM_H_
#define CAIRN_COORDINATOR_INFERENCE_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>

#include "common/mutex.h"
#include "coordinator/inference.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// An Infer call. It has at most one chunk that is not written yet. Owns itself as long as gRPC
// needs it. Thread-safe.
class InferenceStream final : public grpc::ServerWriteReactor<proto::InferenceChunk>,
                              public InferenceSink {
 public:
  static std::shared_ptr<InferenceStream> Start();

  bool alive() const override;
  bool ready() const override;
  void Send(proto::InferenceChunk chunk) override;
  void End(const absl::Status& status) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

 private:
  InferenceStream() = default;
  void FinishLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  proto::InferenceChunk writing_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // `writing_` is being written.
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<InferenceStream> self_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_INFERENCE_STREAM_H_

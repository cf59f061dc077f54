#ifndef CAIRN_COORDINATOR_STATUS_STREAM_H_
#define CAIRN_COORDINATOR_STATUS_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <optional>

#include "common/mutex.h"
#include "coordinator/job_followers.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A FollowJob call. A slow client misses intermediate statuses, but never the last one. Owns itself
// as long as gRPC needs it. Thread-safe.
class StatusStream final : public grpc::ServerWriteReactor<proto::JobStatus>, public StatusSink {
 public:
  static std::shared_ptr<StatusStream> Start();

  bool alive() const override;
  bool Show(const proto::JobStatus& status) override;
  void End(const absl::Status& status) override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

 private:
  StatusStream() = default;
  void WriteLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  proto::JobStatus writing_ ABSL_GUARDED_BY(mutex_);
  bool busy_ ABSL_GUARDED_BY(mutex_) = false;  // `writing_` is being written.
  std::optional<proto::JobStatus> next_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);  // Sent after next_.
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<StatusStream> self_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_STATUS_STREAM_H_

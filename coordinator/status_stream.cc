#include "coordinator/status_stream.h"

#include <utility>

#include "cluster/grpc_status.h"

namespace cairn::coordinator {

std::shared_ptr<StatusStream> StatusStream::Start() {
  std::shared_ptr<StatusStream> stream(new StatusStream());
  stream->self_ = stream;
  return stream;
}

void StatusStream::WriteLocked() {
  if (finished_ || busy_) return;
  if (!next_.has_value()) {
    if (end_.has_value()) FinishLocked(*end_);
    return;
  }
  writing_ = *std::exchange(next_, std::nullopt);
  busy_ = true;
  StartWrite(&writing_);
}

void StatusStream::FinishLocked(const absl::Status& status) {
  if (finished_) return;
  finished_ = true;
  Finish(cluster::ToGrpc(status));
}

bool StatusStream::alive() const {
  MutexLock lock(&mutex_);
  return !finished_;
}

bool StatusStream::Show(const proto::JobStatus& status) {
  MutexLock lock(&mutex_);
  next_ = status;
  WriteLocked();
  return !finished_;
}

void StatusStream::End(const absl::Status& status) {
  MutexLock lock(&mutex_);
  end_ = status;
  WriteLocked();
}

void StatusStream::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  busy_ = false;
  if (!ok) return FinishLocked(absl::CancelledError("the client is gone"));
  WriteLocked();
}

void StatusStream::OnCancel() {
  MutexLock lock(&mutex_);
  FinishLocked(absl::CancelledError("the call was cancelled"));
}

}  // namespace cairn::coordinator

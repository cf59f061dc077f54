#include "coordinator/inference_stream.h"

#include <utility>

#include "cluster/grpc_status.h"

namespace cairn::coordinator {

std::shared_ptr<InferenceStream> InferenceStream::Start() {
  std::shared_ptr<InferenceStream> stream(new InferenceStream());
  stream->self_ = stream;
  return stream;
}

bool InferenceStream::alive() const {
  MutexLock lock(&mutex_);
  return !finished_;
}

bool InferenceStream::ready() const {
  MutexLock lock(&mutex_);
  return !finished_ && !busy_;
}

void InferenceStream::Send(proto::InferenceChunk chunk) {
  MutexLock lock(&mutex_);
  if (finished_ || busy_) return;
  writing_ = std::move(chunk);
  busy_ = true;
  StartWrite(&writing_);
}

void InferenceStream::End(const absl::Status& status) {
  MutexLock lock(&mutex_);
  end_ = status;
  if (!busy_) FinishLocked(status);
}

void InferenceStream::FinishLocked(const absl::Status& status) {
  if (finished_) return;
  finished_ = true;
  Finish(cluster::ToGrpc(status));
}

void InferenceStream::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  busy_ = false;
  if (!ok) return FinishLocked(absl::CancelledError("the client is gone"));
  if (end_.has_value()) FinishLocked(*end_);
}

void InferenceStream::OnCancel() {
  MutexLock lock(&mutex_);
  FinishLocked(absl::CancelledError("the call was cancelled"));
}

}  // namespace cairn::coordinator

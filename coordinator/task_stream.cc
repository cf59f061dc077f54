#include "coordinator/task_stream.h"

#include <utility>

namespace cairn::coordinator {
namespace {

// A task with this many unread commands is considered dead.
constexpr size_t kOutgoingMax = 4096;

}  // namespace

TaskStream* TaskStream::Start(ControlLoop* loop, SessionRegistry* sessions) {
  std::shared_ptr<TaskStream> stream(new TaskStream(loop, sessions));
  TaskStream* raw = stream.get();
  raw->session_ = sessions->Add(std::move(stream));
  raw->StartRead(&raw->incoming_);
  return raw;
}

void TaskStream::Send(const proto::Command& command) {
  MutexLock lock(&mutex_);
  if (finished_ || closing_) return;
  if (outgoing_.size() >= kOutgoingMax) {
    return FinishLocked(
        grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the task does not read its commands"));
  }
  outgoing_.push_back(command);
  if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
}

void TaskStream::Close() {
  MutexLock lock(&mutex_);
  closing_ = true;
  if (outgoing_.empty()) FinishLocked(grpc::Status::OK);
}

void TaskStream::FinishLocked(const grpc::Status& status) {
  if (finished_) return;
  finished_ = true;
  grpc::ServerBidiReactor<proto::TaskMessage, proto::Command>::Finish(status);
}

void TaskStream::Finish(const grpc::Status& status) {
  MutexLock lock(&mutex_);
  FinishLocked(status);
}

void TaskStream::OnReadDone(bool ok) {
  if (!ok) return Finish(grpc::Status::OK);
  if (!loop_->PostMessage(session_, std::move(incoming_))) {
    return Finish(
        grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the coordinator is overloaded"));
  }
  MutexLock lock(&mutex_);
  if (finished_) return;
  incoming_ = proto::TaskMessage();
  StartRead(&incoming_);
}

void TaskStream::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  outgoing_.pop_front();
  if (!ok) return FinishLocked(grpc::Status::OK);
  if (finished_) return;
  if (!outgoing_.empty()) return StartWrite(&outgoing_.front());
  if (closing_) FinishLocked(grpc::Status::OK);
}

void TaskStream::OnCancel() { Finish(grpc::Status::CANCELLED); }

void TaskStream::OnDone() {
  loop_->PostSessionEnd(session_);
  sessions_->Remove(session_);  // The last reference: nothing after this.
}

}  // namespace cairn::coordinator

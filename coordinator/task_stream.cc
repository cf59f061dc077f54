#include "coordinator/task_stream.h"

#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cluster/message_checksum.h"

namespace cairn::coordinator {
namespace {

// A task that lets this much lie unread is considered dead.
constexpr size_t kUnsentBytesMax = size_t{1} << 20;
// Not more than this of a stream waits for the loop (one message may be larger). A worker sends a
// few messages each second.
constexpr size_t kUnhandledMax = 16;
constexpr size_t kUnhandledBytesMax = size_t{256} << 10;

// A slice that shares the plan's bytes.
grpc::Slice PlanSlice(const SharedPlanPtr& plan) {
  auto* const reference = new SharedPlanPtr(plan);
  return {const_cast<char*>(plan->bytes.data()), plan->bytes.size(),
          [](void* released) { delete static_cast<SharedPlanPtr*>(released); }, reference};
}

bool Parse(grpc::ByteBuffer* bytes, proto::TaskMessage* message) {
  grpc::ProtoBufferReader reader(bytes);
  return message->ParseFromZeroCopyStream(&reader);
}

// Whether the task could not use its job's plan, so that it may not have it any more.
bool ReportsFailure(const proto::TaskMessage& message) {
  return message.has_failure() || (message.has_restored() && !message.restored().error().empty());
}

}  // namespace

TaskStream* TaskStream::Start(ControlLoop* loop, SessionRegistry* sessions) {
  std::shared_ptr<TaskStream> stream(new TaskStream(loop, sessions));
  TaskStream* raw = stream.get();
  raw->session_ = sessions->Add(std::move(stream));
  raw->StartRead(&raw->incoming_);
  return raw;
}

bool TaskStream::NeedsPlanLocked(const proto::Command& command, const SharedPlanPtr& plan) {
  // The task drops its job when it is stopped, or welcomed to another cluster.
  const bool drops = command.has_stop_job() ||
                     (command.has_welcome() && command.welcome().cluster_id() != known_in_cluster_);
  if (drops) known_plan_ = 0;
  if (plan == nullptr) return false;
  return std::exchange(known_plan_, plan->fingerprint) != plan->fingerprint;
}

// A StartInference has the plan of its job in it, so it alone may be larger than the limit. A
// second one counts, so that memory stays bounded.
bool TaskStream::CountsLocked(const proto::Command& command) const {
  return !command.has_start_inference() ||
         std::any_of(outgoing_.begin(), outgoing_.end(),
                     [](const Unsent& unsent) { return unsent.own_bytes == 0; });
}

void TaskStream::Send(const proto::Command& command, const SharedPlanPtr& plan) {
  MutexLock lock(&mutex_);
  if (finished_ || closing_) return;
  // Whatever is unsent tells the task as well that the coordinator is alive.
  if (command.has_heartbeat() && !outgoing_.empty()) return;
  if (unsent_bytes_ >= kUnsentBytesMax) {
    return FinishLocked(
        grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "the task does not read its commands"));
  }
  // The checksum does not cover the plan, which has its fingerprint.
  proto::Command checked = command;
  cluster::AddChecksum(&checked);
  std::string head = checked.SerializeAsString();
  std::vector<grpc::Slice> slices;
  if (NeedsPlanLocked(command, plan)) {
    head += PlanPrefix(command, *plan);
    slices = {grpc::Slice(head), PlanSlice(plan)};
  } else {
    slices = {grpc::Slice(head)};
  }
  const size_t own_bytes = CountsLocked(command) ? head.size() : 0;
  unsent_bytes_ += own_bytes;
  outgoing_.push_back({grpc::ByteBuffer(slices.data(), slices.size()), own_bytes});
  if (outgoing_.size() == 1) StartWrite(&outgoing_.front().bytes);
}

void TaskStream::Close() {
  MutexLock lock(&mutex_);
  closing_ = true;
  if (outgoing_.empty()) FinishLocked(grpc::Status::OK);
}

void TaskStream::FinishLocked(const grpc::Status& status) {
  if (finished_) return;
  finished_ = true;
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>::Finish(status);
}

void TaskStream::Finish(const grpc::Status& status) {
  MutexLock lock(&mutex_);
  FinishLocked(status);
}

void TaskStream::OnReadDone(bool ok) {
  if (!ok) return Finish(grpc::Status::OK);
  const size_t bytes = incoming_.Length();
  proto::TaskMessage message;
  if (!Parse(&incoming_, &message)) {
    return Finish(grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "this is no TaskMessage"));
  }
  if (!cluster::TakeChecksum(&message)) {
    return Finish(grpc::Status(grpc::StatusCode::DATA_LOSS, "a message of the task is damaged"));
  }
  OnMessage(std::move(message), bytes);
}

void TaskStream::OnMessage(proto::TaskMessage message, size_t bytes) {
  {
    MutexLock lock(&mutex_);
    ++unhandled_;
    unhandled_bytes_ += bytes;
    if (message.has_join()) {
      known_plan_ = message.join().plan_fingerprint();
      known_in_cluster_ = message.join().cluster_id();
    } else if (ReportsFailure(message)) {
      known_plan_ = 0;
    }
  }
  // The next read begins after this message is posted, so that messages stay in order.
  loop_->PostMessage(session_, std::move(message),
                     [self = shared_from_this(), bytes] { self->OnHandled(bytes); });
  MutexLock lock(&mutex_);
  reading_ = false;
  ReadMoreLocked();
}

void TaskStream::OnHandled(size_t bytes) {
  MutexLock lock(&mutex_);
  --unhandled_;
  unhandled_bytes_ -= bytes;
  ReadMoreLocked();
}

void TaskStream::ReadMoreLocked() {
  if (finished_ || reading_) return;
  if (unhandled_ >= kUnhandledMax || unhandled_bytes_ >= kUnhandledBytesMax) return;
  reading_ = true;
  StartRead(&incoming_);
}

void TaskStream::OnWriteDone(bool ok) {
  MutexLock lock(&mutex_);
  unsent_bytes_ -= outgoing_.front().own_bytes;
  outgoing_.pop_front();
  if (!ok) return FinishLocked(grpc::Status::OK);
  if (finished_) return;
  if (!outgoing_.empty()) return StartWrite(&outgoing_.front().bytes);
  if (closing_) FinishLocked(grpc::Status::OK);
}

void TaskStream::OnCancel() { Finish(grpc::Status::CANCELLED); }

void TaskStream::OnDone() {
  loop_->PostSessionEnd(session_);
  sessions_->Remove(session_);  // The loop may have the last reference.
}

}  // namespace cairn::coordinator

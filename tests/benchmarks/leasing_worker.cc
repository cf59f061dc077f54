#include "tests/benchmarks/leasing_worker.h"

#include <grpcpp/channel.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cluster/rpc_channel.h"
#include "common/version.h"

namespace cairn::benchmarks {
namespace {

constexpr absl::Duration kHeartbeat = absl::Seconds(1);

}  // namespace

LeasingWorker::LeasingWorker(const std::string& coordinator, int64_t examples,
                             double batches_per_second)
    : examples_(examples),
      batches_per_second_(batches_per_second),
      stub_(proto::Coordinator::NewStub(cluster::CreateChannel(coordinator))) {
  stub_->async()->Session(&context_, this);
  AddHold();  // Reads and writes are started outside gRPC's callbacks.
  StartRead(&in_);
  Join();
  StartCall();
}

LeasingWorker::~LeasingWorker() {
  context_.TryCancel();
  RemoveHold();
  MutexLock lock(&mutex_);
  while (!done_) changed_.Wait(&mutex_);
}

void LeasingWorker::Join() {
  proto::Join* join = out_.mutable_join();
  join->set_version(kVersion);
  join->set_role(proto::WORKER);
  join->set_index(-1);
  join->set_instance_id(cluster::RandomSeed());
  join->set_pid(getpid());
  {
    MutexLock lock(&mutex_);
    writing_ = true;
  }
  StartWrite(&out_);
}

void LeasingWorker::Tick() {
  bool write = false;
  {
    MutexLock lock(&mutex_);
    const absl::Duration now = clock_.Now();
    if (!joined_ || broken_) return;
    Work(now);
    TakeMessages(now);
    if (now >= next_heartbeat_) {
      next_heartbeat_ = now + kHeartbeat;
      outbox_.emplace_back().mutable_heartbeat();
    }
    write = NextOut();
  }
  if (write) StartWrite(&out_);
}

bool LeasingWorker::joined() {
  MutexLock lock(&mutex_);
  return joined_;
}

bool LeasingWorker::broken() {
  MutexLock lock(&mutex_);
  return broken_;
}

void LeasingWorker::OnReadDone(bool ok) {
  bool write = false;
  {
    MutexLock lock(&mutex_);
    broken_ |= !ok;
    if (!ok) return;
    Handle(in_);
    const absl::Duration now = clock_.Now();
    Work(now);
    // The real worker wakes its sender in this case; otherwise the sender polls.
    if (state_.SendSoon()) TakeMessages(now);
    write = NextOut();
  }
  StartRead(&in_);
  if (write) StartWrite(&out_);
}

void LeasingWorker::OnWriteDone(bool ok) {
  bool write = false;
  {
    MutexLock lock(&mutex_);
    writing_ = false;
    broken_ |= !ok;
    write = NextOut();
  }
  if (write) StartWrite(&out_);
}

void LeasingWorker::OnDone(const grpc::Status&) {
  MutexLock lock(&mutex_);
  broken_ = done_ = true;
  changed_.NotifyAll();
}

void LeasingWorker::Handle(const proto::Command& command) {
  if (command.has_welcome()) {
    joined_ = true;
    next_heartbeat_ = clock_.Now() + kHeartbeat;
    state_.OnWelcome(command.welcome().keep_leases(), clock_.Now());
  } else {
    state_.OnCommand(command);
  }
}

void LeasingWorker::Work(absl::Duration now) {
  if (batches_per_second_ <= 0) {
    while (const std::optional<worker::WorkItem> task = state_.NextItem()) Do(*task);
    return;
  }
  const absl::Duration step = absl::Seconds(1 / batches_per_second_);
  // Idle time is not made up for, except for the delay of a late tick.
  next_batch_ = std::max(next_batch_, now - 4 * step);
  while (now >= next_batch_) {
    const std::optional<worker::WorkItem> task = state_.NextItem();
    if (!task.has_value()) return;
    if (task->kind == worker::WorkItem::Kind::kTrain) next_batch_ += step;
    Do(*task);
  }
}

void LeasingWorker::Do(const worker::WorkItem& task) {
  if (task.kind == worker::WorkItem::Kind::kInspect) {
    proto::InspectReply reply;
    reply.set_job_id(task.inspect->job_id());
    reply.set_examples(examples_);
    state_.Inspected(reply);
  } else if (task.kind == worker::WorkItem::Kind::kStartJob) {
    key_ = {task.job->plan().job_id(), task.job->generation()};
    state_.Ready(key_);
  } else if (task.kind == worker::WorkItem::Kind::kTrain) {
    proto::BatchRecord record;
    record.set_batch(task.batch);
    record.set_examples(1);
    record.set_loss(1);
    state_.Applied(key_, record);
  }
}

void LeasingWorker::TakeMessages(absl::Duration now) {
  for (proto::TaskMessage& message : state_.TakeMessages(now)) {
    outbox_.push_back(std::move(message));
  }
}

bool LeasingWorker::NextOut() {
  if (writing_ || broken_ || outbox_.empty()) return false;
  out_ = std::move(outbox_.front());
  outbox_.pop_front();
  writing_ = true;
  return true;
}

}  // namespace cairn::benchmarks

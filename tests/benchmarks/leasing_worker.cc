#include "tests/benchmarks/leasing_worker.h"

#include <algorithm>
#include <utility>

namespace cairn::benchmarks {

LeasingWorker::LeasingWorker(const std::string& coordinator, Options options)
    : options_(std::move(options)),
      session_(coordinator,
               {.make_join = [this] { return MakeJoin(); },
                .handle = [this](const proto::Command& command, absl::Duration now,
                                 LightSession::Messages* out) { Handle(command, now, out); },
                .tick =
                    [this](absl::Duration now, LightSession::Messages* out) {
                      MutexLock lock(&mutex_);
                      Work(now);
                      TakeMessages(now, out);
                    },
                .disconnected =
                    [this] {
                      MutexLock lock(&mutex_);
                      asked_at_.reset();
                      state_.OnDisconnected();
                    }}) {}

proto::Join LeasingWorker::MakeJoin() {
  proto::Join join;
  join.set_role(proto::WORKER);
  join.set_any_index(true);
  MutexLock lock(&mutex_);
  join.set_index(index_);
  join.set_cluster_id(cluster_id_);
  state_.FillJoin(&join);
  return join;
}

bool LeasingWorker::started() {
  MutexLock lock(&mutex_);
  return key_.job_id != 0;
}

int LeasingWorker::leases_lost() {
  MutexLock lock(&mutex_);
  return leases_lost_;
}

std::vector<double> LeasingWorker::TakeLeaseTimes() {
  MutexLock lock(&mutex_);
  return std::exchange(lease_times_, {});
}

void LeasingWorker::Handle(const proto::Command& command, absl::Duration now,
                           LightSession::Messages* messages) {
  MutexLock lock(&mutex_);
  if (command.has_welcome()) {
    if (index_ >= 0 && key_.job_id != 0 && !command.welcome().keep_leases()) ++leases_lost_;
    index_ = command.welcome().index();
    cluster_id_ = command.welcome().cluster_id();
    state_.OnWelcome(command.welcome().keep_leases(), now);
  } else {
    state_.OnCommand(command);
  }
  if (command.has_grant() && asked_at_.has_value()) {
    lease_times_.push_back(absl::ToDoubleSeconds(now - *asked_at_));
    asked_at_.reset();
  }
  Work(now);
  // The real worker wakes its sender in this case; otherwise the sender polls.
  if (state_.SendSoon()) TakeMessages(now, messages);
}

void LeasingWorker::Work(absl::Duration now) {
  if (options_.batches_per_second <= 0) {
    while (const std::optional<worker::WorkItem> task = state_.NextItem()) Do(*task);
    return;
  }
  const absl::Duration step = absl::Seconds(1 / options_.batches_per_second);
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
    reply.set_inspection(task.inspect->inspection());
    reply.set_examples(options_.examples);
    state_.Inspected(reply);
  } else if (task.kind == worker::WorkItem::Kind::kStartJob) {
    key_ = {task.job->plan().job_id(), task.job->generation()};
    state_.Ready(key_);
  } else if (task.kind == worker::WorkItem::Kind::kTrain) {
    if (options_.apply != nullptr) options_.apply(task.batch);
    proto::BatchRecord record;
    record.set_batch(task.batch);
    record.set_examples(1);
    record.set_loss(1);
    state_.Applied(key_, record);
  }
}

void LeasingWorker::TakeMessages(absl::Duration now, LightSession::Messages* messages) {
  for (proto::TaskMessage& message : state_.TakeMessages(now)) {
    if (options_.one_by_one && message.has_work()) {
      const bool asks = message.work().queued() == 0;
      message.mutable_work()->set_wanted(asks ? 1 : 0);
      if (asks && !asked_at_.has_value()) asked_at_ = now;
    }
    messages->push_back(std::move(message));
  }
}

}  // namespace cairn::benchmarks

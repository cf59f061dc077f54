#include "coordinator/training/profile_session.h"

#include <algorithm>
#include <utility>

namespace cairn::coordinator {
namespace {

// How long a task may take to send what it has measured.
constexpr absl::Duration kAnswerTime = absl::Seconds(5);

}  // namespace

proto::Command ProfileSession::CommandFor(int64_t steps) const {
  proto::Command command;
  command.mutable_profile()->set_profile(options_.id);
  command.mutable_profile()->set_job_id(options_.job_id);
  command.mutable_profile()->set_steps(steps);
  return command;
}

void ProfileSession::Begin(const std::set<TaskId>& workers, uint32_t ps_count, Outbox* outbox) {
  for (const TaskId worker : workers) {
    if (worker.role == proto::WORKER) asked_.insert(worker);
  }
  for (uint32_t ps = 0; ps < ps_count; ++ps) asked_.insert(PsTask(ps));
  for (const TaskId task : asked_) outbox->Send(task, CommandFor(options_.steps));
}

void ProfileSession::Reply(TaskId task, const proto::ProfileReport& report) {
  if (report.profile() != options_.id || !asked_.contains(task)) return;
  proto::ProfileReport& kept = reports_[task];
  kept = report;
  kept.set_role(task.role);
  kept.set_index(task.index);
}

bool ProfileSession::WorkersAreDone() const {
  return std::all_of(asked_.begin(), asked_.end(), [this](TaskId task) {
    return task.role == proto::PS || reports_.contains(task);
  });
}

bool ProfileSession::AllAreDone() const {
  return std::all_of(asked_.begin(), asked_.end(),
                     [this](TaskId task) { return reports_.contains(task); });
}

void ProfileSession::Advance(absl::Duration now, Outbox* outbox) {
  if (over()) return;
  const bool stopped = stopped_at_ != absl::InfiniteDuration();
  // A ps counts no steps: it measures until the same profile comes with 0 steps.
  if (!stopped && (WorkersAreDone() || now >= options_.deadline)) {
    stopped_at_ = now;
    for (const TaskId task : asked_) {
      if (!reports_.contains(task)) outbox->Send(task, CommandFor(0));
    }
  }
  if (AllAreDone() || now - stopped_at_ > kAnswerTime) Answer(Collected(), outbox);
}

void ProfileSession::Abandon(const absl::Status& why, Outbox* outbox) {
  if (over()) return;
  if (reports_.empty()) return Answer(why, outbox);
  Answer(Collected(), outbox);
}

proto::ProfileReply ProfileSession::Collected() const {
  proto::ProfileReply reply;
  reply.set_job_id(options_.job_id);
  for (const auto& [task, report] : reports_) *reply.add_tasks() = report;
  return reply;
}

void ProfileSession::Answer(absl::StatusOr<proto::ProfileReply> reply, Outbox* outbox) {
  outbox->replies.push_back([callback = std::exchange(callback_, nullptr),
                             reply = std::move(reply)]() mutable { callback(std::move(reply)); });
}

}  // namespace cairn::coordinator

#include "coordinator/control_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/failpoint.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kTick = absl::Milliseconds(50);
constexpr std::chrono::milliseconds kWatch(200);
constexpr absl::Duration kSlowWrite = absl::Seconds(1);

}  // namespace

ControlLoop::ControlLoop(Options options)
    : options_(std::move(options)), queue_(options_.queue_capacity) {}

absl::StatusOr<std::unique_ptr<ControlLoop>> ControlLoop::Start(Options options) {
  std::unique_ptr<ControlLoop> loop(new ControlLoop(std::move(options)));
  Outbox outbox;
  Scheduler::Options scheduler_options = loop->options_.scheduler;
  scheduler_options.journal = loop->options_.journal;
  CAIRN_ASSIGN_OR_RETURN(loop->scheduler_,
                         Scheduler::Create(std::move(scheduler_options), loop->Now(), &outbox));
  // The new term is on disk before any task is welcomed with it. Only changes are carried out here:
  // no task has joined yet.
  CAIRN_RETURN_IF_ERROR(loop->Write(outbox));
  loop->turned_at_ = absl::ToInt64Nanoseconds(loop->options_.clock->Now());
  loop->thread_ = std::thread([raw = loop.get()] { raw->Run(); });
  loop->watchdog_ = std::thread([raw = loop.get()] { raw->Watch(); });
  return loop;
}

ControlLoop::~ControlLoop() {
  queue_.Close();
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    stopping_changed_.NotifyAll();
  }
  if (watchdog_.joinable()) watchdog_.join();
  if (thread_.joinable()) thread_.join();
}

void ControlLoop::Watch() {
  MutexLock lock(&mutex_);
  while (!stopping_) {
    const absl::Duration still = options_.clock->Now() - absl::Nanoseconds(turned_at_.load());
    if (still > options_.stall_timeout) {
      options_.on_failure(absl::UnavailableError(absl::StrCat(
          "no decision was made for ", absl::FormatDuration(absl::Trunc(still, absl::Seconds(1))),
          ": the disk of the journal hangs")));
      return;
    }
    stopping_changed_.WaitFor(&mutex_, kWatch);
  }
}

EventTime ControlLoop::Now() const {
  return {options_.clock->Now(), absl::ToUnixSeconds(absl::Now())};
}

bool ControlLoop::Post(Event event) { return queue_.TryPush(std::move(event)); }

void ControlLoop::PostMessage(uint64_t session, proto::TaskMessage message,
                              absl::AnyInvocable<void()> handled) {
  {
    MutexLock lock(&waiting_mutex_);
    ++waiting_[session];
  }
  queue_.PushBeyondCapacity(
      [this, session, message = std::move(message), handled = std::move(handled)](
          Scheduler* scheduler, EventTime now, Outbox* outbox) mutable {
        {
          MutexLock lock(&waiting_mutex_);
          if (--waiting_[session] == 0) waiting_.erase(session);
        }
        scheduler->OnMessage(session, message, now, outbox);
        if (handled != nullptr) handled();
      });
}

void ControlLoop::PostSessionEnd(uint64_t session) {
  queue_.PushBeyondCapacity([session](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnSessionEnd(session, now, outbox);
  });
}

void ControlLoop::Follow(uint64_t job_id, std::shared_ptr<StatusSink> sink) {
  const bool posted = Post([this, job_id, sink](Scheduler* scheduler, EventTime now, Outbox*) {
    followers_.Add(job_id, sink);
    followers_.Update(scheduler, now);
  });
  if (!posted) sink->End(absl::ResourceExhaustedError("the coordinator is overloaded"));
}

void ControlLoop::Run() {
  absl::Duration tick_at = options_.clock->Now();
  while (true) {
    const absl::Duration wait = tick_at - options_.clock->Now();
    std::optional<Event> event = queue_.Pop(std::max(wait, absl::ZeroDuration()));
    if (event.has_value()) Handle(*std::move(event));
    turned_at_ = absl::ToInt64Nanoseconds(options_.clock->Now());
    if (!event.has_value() && queue_.closed()) return;
    const EventTime now = Now();
    // Ticks depend on time, not on an empty queue: leases must expire under load too.
    if (now.monotonic < tick_at) continue;
    tick_at = now.monotonic + kTick;
    Tick(now);
  }
}

void ControlLoop::Handle(Event event) {
  CAIRN_FAILPOINT("control_loop.event").IgnoreError();
  Outbox outbox;
  event(scheduler_.get(), Now(), &outbox);
  CarryOut(&outbox);
}

void ControlLoop::HearWaiting(EventTime now) {
  MutexLock lock(&waiting_mutex_);
  for (const auto& [session, count] : waiting_) scheduler_->OnHeard(session, now);
}

void ControlLoop::Tick(EventTime now) {
  if (failed_) return;
  HearWaiting(now);
  Outbox outbox;
  scheduler_->OnTick(now, &outbox);
  CarryOut(&outbox);
  followers_.Update(scheduler_.get(), now);
}

absl::Status ControlLoop::Write(const Outbox& outbox) {
  if (!outbox.changes.empty()) {
    CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("control_loop.write"));
    const absl::Duration begin = options_.clock->Now();
    CAIRN_RETURN_IF_ERROR(options_.journal->Write(outbox.changes, outbox.sync));
    const absl::Duration took = options_.clock->Now() - begin;
    if (took > kSlowWrite) CAIRN_LOG_WARNING("the disk of the journal is slow", "write", took);
    CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("control_loop.written"));
  }
  for (const auto failpoint : outbox.failpoints) CAIRN_RETURN_IF_ERROR(failpoint());
  return absl::OkStatus();
}

void ControlLoop::CarryOut(Outbox* outbox) {
  if (!failed_) {
    const absl::Status written = Write(*outbox);
    if (!written.ok()) {
      failed_ = true;
      CAIRN_LOG_ERROR("the journal cannot be written", "error", written);
      options_.on_failure(written);
    }
  }
  // Nothing is sent about a decision that was not written. Clients get no answer; their connections
  // break when the process ends.
  if (failed_) return;
  // Answers go first: a task must get its welcome before any command.
  for (Outbox::Answer& answer : outbox->answers) {
    options_.sessions->Send(answer.session, answer.command);
    if (answer.close) options_.sessions->Close(answer.session);
  }
  for (Outbox::Sending& sending : outbox->commands) {
    const uint64_t session = scheduler_->SessionOf(sending.task);
    if (session != 0) options_.sessions->Send(session, sending.command, sending.plan);
  }
  if (!outbox->commands.empty()) CAIRN_FAILPOINT("control_loop.commands_sent").IgnoreError();
  for (auto& reply : outbox->replies) reply();
  if (!outbox->replies.empty()) CAIRN_FAILPOINT("control_loop.replies_sent").IgnoreError();
}

}  // namespace cairn::coordinator

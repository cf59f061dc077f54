#ifndef CAIRN_COORDINATOR_CONTROL_LOOP_H_
#define CAIRN_COORDINATOR_CONTROL_LOOP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/bounded_queue.h"
#include "common/clock.h"
#include "common/mutex.h"
#include "coordinator/event_time.h"
#include "coordinator/job_followers.h"
#include "coordinator/outbox.h"
#include "coordinator/scheduler.h"
#include "coordinator/session_registry.h"
#include "proto/coordinator.pb.h"
#include "storage/journal.h"

namespace cairn::coordinator {

// The single thread that makes all decisions. It takes events from one bounded queue, passes them
// to the scheduler, writes the decisions to the journal, and only then sends commands and replies.
// Thread-safe.
class ControlLoop {
 public:
  struct Options {
    Scheduler::Options scheduler;
    storage::Journal* journal = nullptr;  // Pointers must outlive the loop.
    const Clock* clock = nullptr;
    SessionRegistry* sessions = nullptr;
    // Called once, when the journal cannot be written (on the loop; no decision is made after
    // that), or when the loop has stood still for `stall_timeout` (on another thread): then the
    // journal's disk hangs. The process must end: its successor may have a disk that works.
    std::function<void(const absl::Status&)> on_failure;
    absl::Duration stall_timeout = absl::Seconds(60);
    // Events of clients.
    size_t queue_capacity = 65536;
  };
  using Event = absl::AnyInvocable<void(Scheduler*, EventTime, Outbox*)>;

  // Reads the journal and starts the thread. Errors: those of Scheduler::Create and of the journal.
  static absl::StatusOr<std::unique_ptr<ControlLoop>> Start(Options options);
  // Handles the queued events, then ends.
  ~ControlLoop();
  ControlLoop(const ControlLoop&) = delete;
  ControlLoop& operator=(const ControlLoop&) = delete;

  // Does not block. False: the loop is overloaded or ending; the event will not run.
  bool Post(Event event);
  void Follow(uint64_t job_id, std::shared_ptr<StatusSink> sink);

  // Events of tasks' streams. They are not limited here: a stream posts a few messages, and reads
  // on when `handled` is called, on the loop. After a stall no stream is broken and no message
  // lost.
  void PostMessage(uint64_t session, proto::TaskMessage message,
                   absl::AnyInvocable<void()> handled = nullptr);
  void PostSessionEnd(uint64_t session);

 private:
  explicit ControlLoop(Options options);

  EventTime Now() const;
  void Run();
  void Handle(Event event);
  // A task whose messages wait is not silent, however slow the journal's disk is.
  void HearWaiting(EventTime now);
  void Tick(EventTime now);
  // Writes the changes to the journal.
  absl::Status Write(const Outbox& outbox);
  void CarryOut(Outbox* outbox);
  void Watch();

  const Options options_;
  BoundedQueue<Event> queue_;
  Mutex waiting_mutex_;
  // By session: its messages that wait to be handled.
  std::map<uint64_t, int64_t> waiting_ ABSL_GUARDED_BY(waiting_mutex_);
  // Owned by the loop's thread.
  std::unique_ptr<Scheduler> scheduler_;
  JobFollowers followers_;
  bool failed_ = false;

  // When the loop last finished a turn, as clock->Now() in nanoseconds.
  std::atomic<int64_t> turned_at_;
  Mutex mutex_;
  ConditionVariable stopping_changed_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::thread thread_;
  std::thread watchdog_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CONTROL_LOOP_H_

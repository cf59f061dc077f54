#ifndef CAIRN_COORDINATOR_CONTROL_LOOP_H_
#define CAIRN_COORDINATOR_CONTROL_LOOP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/bounded_queue.h"
#include "common/clock.h"
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
    // Called once, on the loop, when the journal cannot be written. No decision is made after that.
    std::function<void(const absl::Status&)> on_failure;
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

  // Events of tasks' streams. False: the loop is overloaded; end the stream.
  bool PostMessage(uint64_t session, proto::TaskMessage message);
  // Never lost.
  void PostSessionEnd(uint64_t session);

 private:
  explicit ControlLoop(Options options);

  EventTime Now() const;
  void Run();
  void Handle(Event event);
  void Tick(EventTime now);
  void CarryOut(Outbox* outbox);

  const Options options_;
  BoundedQueue<Event> queue_;
  // Owned by the loop's thread.
  std::unique_ptr<Scheduler> scheduler_;
  JobFollowers followers_;
  bool failed_ = false;

  std::thread thread_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CONTROL_LOOP_H_

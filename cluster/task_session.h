#ifndef CAIRN_CLUSTER_TASK_SESSION_H_
#define CAIRN_CLUSTER_TASK_SESSION_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "proto/coordinator.pb.h"

namespace cairn::cluster {

// Receives the commands of a TaskSession. All methods are called on one thread, in this order:
// (OnWelcome OnCommand* OnDisconnected | OnRefused)*. The thread is not used for anything else:
// while a method runs, heartbeats are still sent, and up to SessionOptions::inbox_max commands are
// queued.
class SessionHandler {
 public:
  virtual ~SessionHandler() = default;
  virtual void OnWelcome(const proto::Welcome& welcome) = 0;
  // Called for every command except Welcome, Refused, Heartbeat and Ending (see
  // TaskSession::IsNeeded). A Refused after a Welcome (the lease has expired) is reported as
  // OnDisconnected, followed by OnRefused if it is permanent.
  virtual void OnCommand(const proto::Command& command) = 0;
  // The stream has ended; messages that were sent but not answered may be lost. The session
  // reconnects by itself.
  virtual void OnDisconnected(const absl::Status& why) = 0;
  // The coordinator has refused the task. After a permanent refusal the session does not try again;
  // otherwise it does.
  virtual void OnRefused(const proto::Refused& refused) = 0;
};

struct SessionOptions {
  std::string address;  // HOST:PORT of the coordinator.
  // Returns the Join for an attempt, with the task's current state. Called on the session's other
  // thread; must not block. The session sets version, instance_id, pid, host and term_seen.
  std::function<proto::Join()> make_join;
  // Sets the counters of a heartbeat; may be null. Called like make_join.
  std::function<void(proto::Heartbeat*)> fill_heartbeat;

  // Called once, on the session's other thread, when the handler has not returned from a call (but
  // that of OnWelcome) for the coordinator's --progress_timeout: it will never execute another
  // command. May be null.
  std::function<void(const std::string& why)> on_stuck;

  absl::Duration heartbeat = absl::Seconds(1);
  // Used until Welcome sets it. A stream without a message for this long is broken.
  absl::Duration lease = absl::Seconds(10);
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration max_delay = absl::Seconds(2);
  size_t outbox_max = 4096;  // Messages to be sent. Send fails beyond this limit.
  size_t inbox_max = 256;    // Commands to be handled. Beyond this limit no more are read.
};

// A task's stream to the coordinator. The session joins, sends heartbeats, and joins again with the
// same instance id whenever the stream breaks, for as long as the task runs. It rejects a
// coordinator whose term is lower than an earlier one. Thread-safe.
//
//   TaskSession session(options, &handler);
//   ... handler.OnWelcome ...
//   session.Send(message);
class TaskSession {
 public:
  // Starts at once. `handler` must outlive the session.
  TaskSession(SessionOptions options, SessionHandler* handler);
  // Calls Stop.
  ~TaskSession();
  TaskSession(const TaskSession&) = delete;
  TaskSession& operator=(const TaskSession&) = delete;

  // Queues a message; does not block. Text that is not UTF-8 is escaped. Returns false if there is
  // no stream (before OnWelcome, or after the stream has broken) or the queue is full. Queued
  // messages are dropped when the stream breaks, because the next Join contains the task's state.
  bool Send(proto::TaskMessage message);

  // Whether a task that was told to end `waited` ago should go on: the coordinator has been told to
  // end as well, and takes a last checkpoint. Whether it has, is known only some time later.
  bool IsNeeded(absl::Duration waited);

  // Ends the stream. The handler is not called afterwards. Must not be called by the handler.
  // Idempotent.
  void Stop();

  // Random; constant during the life of the session.
  uint64_t instance_id() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_TASK_SESSION_H_

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

// What a task does about what it hears. All calls come on one thread of the session, in order:
// (OnWelcome OnCommand* OnDisconnected | OnRefused)*. That thread does nothing else: while a
// handler works heartbeats go on, and at most SessionOptions::inbox_max commands wait.
class SessionHandler {
 public:
  virtual ~SessionHandler() = default;
  virtual void OnWelcome(const proto::Welcome& welcome) = 0;
  // Every command but Welcome, Refused and Heartbeat. A Refused that follows a Welcome (the lease
  // is over) is OnDisconnected, and then OnRefused if it is permanent.
  virtual void OnCommand(const proto::Command& command) = 0;
  // The stream is gone; whatever was sent and not answered may be lost. Joins again by itself.
  virtual void OnDisconnected(const absl::Status& why) = 0;
  // After a permanent refusal nothing more is tried; after another one it goes on by itself.
  virtual void OnRefused(const proto::Refused& refused) = 0;
};

struct SessionOptions {
  std::string address;  // Of the coordinator.
  // The Join of each attempt, as the task is at that moment; called on the session's other thread,
  // must not block. version, instance_id, pid and term_seen are filled in by the session.
  std::function<proto::Join()> make_join;
  // The counters of a heartbeat; may be null. Called as make_join is.
  std::function<void(proto::Heartbeat*)> fill_heartbeat;

  absl::Duration heartbeat = absl::Seconds(1);
  // Until Welcome says otherwise. A stream on which nothing came for so long is broken.
  absl::Duration lease = absl::Seconds(10);
  absl::Duration first_delay = absl::Milliseconds(100);
  absl::Duration max_delay = absl::Seconds(2);
  size_t outbox_max = 4096;  // Messages that wait to be sent.
  size_t inbox_max = 256;    // Commands that wait for the handler; then no more are read.
};

// A task's stream to the coordinator, for as long as the task lives: joins, sends heartbeats, joins
// again for ever when the stream breaks (as the same instance), and refuses coordinators whose term
// is lower than one that it has seen. Thread-safe.
class TaskSession {
 public:
  // Begins at once; `handler` must outlive the session.
  TaskSession(SessionOptions options, SessionHandler* handler);
  // Stops.
  ~TaskSession();
  TaskSession(const TaskSession&) = delete;
  TaskSession& operator=(const TaskSession&) = delete;

  // Queues a message, in which text that is not UTF-8 will be escaped; does not block. False if
  // there is no stream (none before OnWelcome is called, nor after the stream broke) or too much is
  // queued already. Messages that are queued when the stream breaks are dropped: the next Join says
  // what the task knows.
  bool Send(proto::TaskMessage message);

  // Ends the stream; no handler runs afterwards. Not from a handler. May be called more than once.
  void Stop();

  // Random, the same for the life of this session.
  uint64_t instance_id() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_TASK_SESSION_H_

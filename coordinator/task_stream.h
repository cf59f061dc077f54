#ifndef CAIRN_COORDINATOR_TASK_STREAM_H_
#define CAIRN_COORDINATOR_TASK_STREAM_H_

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <deque>
#include <memory>

#include "common/mutex.h"
#include "coordinator/control_loop.h"
#include "coordinator/session_registry.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// One task's Session call: passes the task's messages to the control loop and sends it commands.
// Ends when the task goes, when it is closed, or when the task does not read.
//
// Memory is bounded in both directions. No more is read while the loop has not handled the messages
// of this stream; then the task waits, and TCP slows it down. Unsent commands are limited in bytes.
// Plans do not count: their bytes are shared by all streams, and a task that has the plan of its
// job does not get it again. One StartInference does not count either. Thread-safe.
class TaskStream final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                         public OutgoingStream,
                         public std::enable_shared_from_this<TaskStream> {
 public:
  // Starts reading. The stream lives until both gRPC and the registry have released it. Both
  // arguments must outlive it.
  static TaskStream* Start(ControlLoop* loop, SessionRegistry* sessions);

  void Send(const proto::Command& command, const SharedPlanPtr& plan) override;
  void Close() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  TaskStream(ControlLoop* loop, SessionRegistry* sessions) : loop_(loop), sessions_(sessions) {}

  struct Unsent {
    grpc::ByteBuffer bytes;
    // That count as unsent: not the plan. 0: a StartInference that does not count.
    size_t own_bytes = 0;
  };

  void OnMessage(proto::TaskMessage message, size_t bytes);
  void OnHandled(size_t bytes);
  void ReadMoreLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the task needs the plan that would go with the command.
  bool NeedsPlanLocked(const proto::Command& command, const SharedPlanPtr& plan)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the command's bytes count as unsent.
  bool CountsLocked(const proto::Command& command) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishLocked(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(const grpc::Status& status);

  ControlLoop* const loop_;
  SessionRegistry* const sessions_;
  uint64_t session_ = 0;
  grpc::ByteBuffer incoming_;

  Mutex mutex_;
  bool reading_ ABSL_GUARDED_BY(mutex_) = true;  // Until the message is posted.
  // Messages that the loop has not handled.
  size_t unhandled_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t unhandled_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Unsent> outgoing_ ABSL_GUARDED_BY(mutex_);  // The front one is being written.
  size_t unsent_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  // What the task has in memory when it has read all commands; 0: none, or unknown.
  uint64_t known_plan_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t known_in_cluster_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TASK_STREAM_H_

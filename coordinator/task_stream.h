#ifndef CAIRN_COORDINATOR_TASK_STREAM_H_
#define CAIRN_COORDINATOR_TASK_STREAM_H_

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
// Ends when the task goes, when it is closed, or when the task does not read. Thread-safe.
class TaskStream final : public grpc::ServerBidiReactor<proto::TaskMessage, proto::Command>,
                         public OutgoingStream {
 public:
  // Starts reading. The stream lives until both gRPC and the registry have released it. Both
  // arguments must outlive it.
  static TaskStream* Start(ControlLoop* loop, SessionRegistry* sessions);

  void Send(const proto::Command& command) override;
  void Close() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  TaskStream(ControlLoop* loop, SessionRegistry* sessions) : loop_(loop), sessions_(sessions) {}

  void FinishLocked(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Finish(const grpc::Status& status);

  ControlLoop* const loop_;
  SessionRegistry* const sessions_;
  uint64_t session_ = 0;
  proto::TaskMessage incoming_;

  Mutex mutex_;
  std::deque<proto::Command> outgoing_ ABSL_GUARDED_BY(mutex_);  // The front one is being written.
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TASK_STREAM_H_

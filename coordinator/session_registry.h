#ifndef CAIRN_COORDINATOR_SESSION_REGISTRY_H_
#define CAIRN_COORDINATOR_SESSION_REGISTRY_H_

#include <cstdint>
#include <map>
#include <memory>

#include "common/mutex.h"
#include "coordinator/shared_plan.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// The outgoing half of a task's stream.
class OutgoingStream {
 public:
  virtual ~OutgoingStream() = default;
  // Queues the command, with the plan if there is one and the task does not have it. Does not
  // block. A stream whose task does not read ends itself.
  virtual void Send(const proto::Command& command, const SharedPlanPtr& plan) = 0;
  // Ends the stream after all queued commands are sent.
  virtual void Close() = 0;
};

// The open streams, by session number. Thread-safe.
class SessionRegistry {
 public:
  // Returns a number that is never used again in this process.
  uint64_t Add(std::shared_ptr<OutgoingStream> stream);
  void Remove(uint64_t session);
  // Drops the command if the session is gone.
  void Send(uint64_t session, const proto::Command& command, const SharedPlanPtr& plan = nullptr);
  void Close(uint64_t session);

 private:
  std::shared_ptr<OutgoingStream> Find(uint64_t session);

  Mutex mutex_;
  uint64_t last_session_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::shared_ptr<OutgoingStream>> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_SESSION_REGISTRY_H_

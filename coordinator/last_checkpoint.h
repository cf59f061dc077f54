#ifndef CAIRN_COORDINATOR_LAST_CHECKPOINT_H_
#define CAIRN_COORDINATOR_LAST_CHECKPOINT_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "coordinator/control_loop.h"
#include "coordinator/event_time.h"
#include "coordinator/outbox.h"
#include "coordinator/scheduler.h"

namespace cairn::coordinator {

// Takes a checkpoint of the job that trains, since this process is about to end, and has all tasks
// told so: those that are told to end meanwhile wait for it. `done` gets a line for the log, empty
// if no job trains, when the checkpoint exists with its copies. FailedPrecondition, at once: a ps
// or every worker is away. Aborted: it does not exist after `timeout`.
void TakeLastCheckpoint(absl::Duration timeout,
                        std::function<void(absl::StatusOr<std::string>)> done, Scheduler* scheduler,
                        EventTime now, Outbox* outbox);

// The coordinator's part in Daemon::Run: at the first call it has the last checkpoint taken by the
// control loop, and logs what has become of it. Not thread-safe.
class LastCheckpoint {
 public:
  // `timeout` 0: none is taken. The loop must outlive it.
  LastCheckpoint(ControlLoop* loop, absl::Duration timeout) : loop_(loop), timeout_(timeout) {}

  // Daemon::IsNeeded.
  bool IsNeeded(absl::Duration waited);

 private:
  void Begin();

  ControlLoop* const loop_;
  const absl::Duration timeout_;
  bool has_begun_ = false;
  // The loop may answer when this object is gone.
  const std::shared_ptr<std::atomic<bool>> is_over_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_LAST_CHECKPOINT_H_

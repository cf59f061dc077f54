#ifndef CAIRN_COORDINATOR_TRAINING_TASK_METERS_H_
#define CAIRN_COORDINATOR_TRAINING_TASK_METERS_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "coordinator/task.h"
#include "coordinator/training/rate.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Memory use and request rates that each task reports, for display only. Pure state machine; `now`
// must not decrease. Not thread-safe.
class TaskMeters {
 public:
  // Takes heartbeats and work reports; ignores other messages.
  void OnMessage(TaskId task, const proto::TaskMessage& message, absl::Duration now);
  // Another process has taken the task's place: its counters start at 0.
  void Forget(TaskId task) { meters_.erase(task); }
  // Fills in memory and rates.
  void Fill(TaskId task, absl::Duration now, proto::Member* member);

 private:
  struct Meter {
    int64_t memory_bytes = 0;
    bool has_beaten = false;
    int64_t requests = 0;  // Since the process began, by its last heartbeat.
    Rate requests_rate;
    Rate batches_rate;
    Rate examples_rate;
  };

  std::map<TaskId, Meter> meters_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_TASK_METERS_H_

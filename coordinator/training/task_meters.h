#ifndef CAIRN_COORDINATOR_TRAINING_TASK_METERS_H_
#define CAIRN_COORDINATOR_TRAINING_TASK_METERS_H_

#include <cstdint>
#include <map>

#include "absl/time/time.h"
#include "coordinator/task.h"
#include "coordinator/training/rate.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// What each task says about itself, for people to look at: its memory and how fast it works. A pure
// machine: `now` never goes back. Not thread-safe.
class TaskMeters {
 public:
  // Heartbeats and reports of work; others are no news.
  void OnMessage(TaskId task, const proto::TaskMessage& message, absl::Duration now);
  // Another process stands in the task's place: its counters begin at 0.
  void Forget(TaskId task) { meters_.erase(task); }
  // Memory and rates.
  void Fill(TaskId task, absl::Duration now, proto::Member* member);

 private:
  struct Meter {
    int64_t memory_bytes = 0;
    bool has_beaten = false;
    int64_t requests = 0;  // Since the process began, as the last heartbeat says.
    Rate requests_rate;
    Rate batches_rate;
    Rate examples_rate;
  };

  std::map<TaskId, Meter> meters_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_TASK_METERS_H_

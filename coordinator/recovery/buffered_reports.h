#ifndef CAIRN_COORDINATOR_RECOVERY_BUFFERED_REPORTS_H_
#define CAIRN_COORDINATOR_RECOVERY_BUFFERED_REPORTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "coordinator/task.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// Buffers the work reports that arrive after a restart of the coordinator, before it knows whether
// all ps still have the job. Workers send each report once, so its losses and metrics would be lost
// otherwise. Bounded: later reports are dropped. Not thread-safe.
class BufferedReports {
 public:
  // The bound on the batches in all reports together: as many as may be leased.
  static constexpr int64_t kBatchesMax = 65536;

  // Drops a report without batches: the next one repeats the rest of it.
  void Keep(TaskId worker, const proto::WorkReport& report);
  // The worker is gone or has a new process: its batches are reported again or computed again.
  void Forget(TaskId worker);

  // Removes and returns all reports, in order of arrival.
  std::vector<std::pair<TaskId, proto::WorkReport>> TakeAll();

 private:
  std::vector<std::pair<TaskId, proto::WorkReport>> reports_;
  int64_t batches_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_BUFFERED_REPORTS_H_

#ifndef CAIRN_COORDINATOR_RECOVERY_EARLY_REPORTS_H_
#define CAIRN_COORDINATOR_RECOVERY_EARLY_REPORTS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "coordinator/task.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// What workers report while a coordinator that was started again does not yet know whether all ps
// still have the job: nothing acknowledges a report, so their losses and metrics would be lost.
// Bounded: what comes beyond is dropped. Not thread-safe.
class EarlyReports {
 public:
  // Batches of all reports together: as many as may be leased.
  static constexpr int64_t kBatchesMax = 65536;

  // One that says nothing of any batch is not worth keeping: the next one says the rest again.
  void Keep(TaskId worker, const proto::WorkReport& report);
  // The worker is gone, or has another process: it reports again, or does the batches again.
  void Forget(TaskId worker);

  // In the order in which they came; none are left.
  std::vector<std::pair<TaskId, proto::WorkReport>> TakeAll();

 private:
  std::vector<std::pair<TaskId, proto::WorkReport>> reports_;
  int64_t batches_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_RECOVERY_EARLY_REPORTS_H_

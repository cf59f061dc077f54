#ifndef CAIRN_COORDINATOR_CALLBACKS_CREATE_CALLBACKS_H_
#define CAIRN_COORDINATOR_CALLBACKS_CREATE_CALLBACKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/callbacks/callback.h"
#include "coordinator/callbacks/csv_logger.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// A callback that runs at the end of each epoch, and the quantity that it monitors.
struct MonitoringCallback {
  uint32_t place = 0;  // In Job.callbacks.
  std::string monitor;
  std::unique_ptr<Callback> callback;
};

// A job's callbacks in their initial state. (PlannedRates has those that fix learning rates.)
struct JobCallbacks {
  // In the job's order.
  std::vector<MonitoringCallback> monitoring;
  // The job fails at the first loss that is not finite.
  bool terminate_on_nan = false;
  std::vector<CsvLogger> csv_loggers;
};

// InvalidArgument, starting with the field's path: an unknown callback, an unknown or invalid
// argument, a monitored quantity that this job does not have, or callbacks that exclude each other.
// `job` must outlive the result.
absl::StatusOr<JobCallbacks> CreateCallbacks(const proto::Job& job);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_CREATE_CALLBACKS_H_

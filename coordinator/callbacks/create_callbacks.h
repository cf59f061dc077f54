#ifndef CAIRN_COORDINATOR_CALLBACKS_CREATE_CALLBACKS_H_
#define CAIRN_COORDINATOR_CALLBACKS_CREATE_CALLBACKS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/callbacks/callback.h"
#include "proto/job.pb.h"

namespace cairn::coordinator {

// A callback that runs at the end of each epoch, and the quantity that it monitors.
struct MonitoringCallback {
  uint32_t place = 0;  // In Job.callbacks.
  std::string monitor;
  std::unique_ptr<Callback> callback;
};

// A job's callbacks in their initial state.
struct JobCallbacks {
  // In the job's order.
  std::vector<MonitoringCallback> monitoring;
  // The job fails at the first loss that is not finite.
  bool terminate_on_nan = false;
  // One of them sets the learning rate.
  bool sets_rate = false;
};

// InvalidArgument, starting with the field's path: an unknown callback, an unknown or invalid
// argument, or a monitored quantity that this job does not have.
absl::StatusOr<JobCallbacks> CreateCallbacks(const proto::Job& job);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_CREATE_CALLBACKS_H_

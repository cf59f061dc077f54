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

// A callback that looks at the end of each epoch, and at what.
struct MonitoringCallback {
  uint32_t place = 0;  // In Job.callbacks.
  std::string monitor;
  std::unique_ptr<Callback> callback;
};

// A job's callbacks, new: they have seen nothing.
struct JobCallbacks {
  // In the job's order.
  std::vector<MonitoringCallback> monitoring;
  // The job fails at the first loss that is no number.
  bool terminate_on_nan = false;
  // One of them sets the learning rate.
  bool sets_rate = false;
};

// InvalidArgument names an unknown callback, an argument that it does not have or whose value
// cannot be, and something to monitor that this job has not; the path of the field comes first.
absl::StatusOr<JobCallbacks> CreateCallbacks(const proto::Job& job);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_CALLBACKS_CREATE_CALLBACKS_H_

#ifndef CAIRN_COORDINATOR_SHARED_PLAN_H_
#define CAIRN_COORDINATOR_SHARED_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A job's plan as it travels to all workers and ps. It may have tens of megabytes, so it is
// serialized once, and all streams share the bytes. Immutable.
struct SharedPlan {
  // Names the contents: the same after a restart of the coordinator. Never 0.
  uint64_t fingerprint = 0;
  std::string bytes;
};
using SharedPlanPtr = std::shared_ptr<const SharedPlan>;

SharedPlanPtr SharePlan(const proto::JobPlan& plan);

// The bytes that precede those of the plan when it is appended to a serialized command with a
// StartJob or Restore without a plan. Protobuf merges both parts of the command.
std::string PlanPrefix(const proto::Command& command, const SharedPlan& plan);

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_SHARED_PLAN_H_

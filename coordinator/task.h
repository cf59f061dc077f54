#ifndef CAIRN_COORDINATOR_TASK_H_
#define CAIRN_COORDINATOR_TASK_H_

#include <compare>
#include <cstdint>
#include <string>

#include "cluster/tf_config.h"
#include "proto/coordinator.pb.h"

namespace cairn::coordinator {

// A task of the cluster: a role and an index, whichever process currently has them.
struct TaskId {
  proto::Role role = proto::ROLE_UNSPECIFIED;
  uint32_t index = 0;

  auto operator<=>(const TaskId&) const = default;
  std::string Name() const { return cluster::TaskName(role, index); }
};

inline TaskId PsTask(uint32_t index) { return {proto::PS, index}; }
inline TaskId WorkerTask(uint32_t index) { return {proto::WORKER, index}; }

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TASK_H_

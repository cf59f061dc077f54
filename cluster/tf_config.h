#ifndef CAIRN_CLUSTER_TF_CONFIG_H_
#define CAIRN_CLUSTER_TF_CONFIG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "cluster/address.h"
#include "proto/coordinator.pb.h"

namespace cairn::cluster {

// The task that reads TF_CONFIG.
struct OwnTask {
  proto::Role role = proto::ROLE_UNSPECIFIED;
  uint32_t index = 0;
};

// A validated TF_CONFIG: at most one chief; ps, numbered without gaps; any number of workers,
// possibly with gaps; no duplicate address.
//
// Without ps the workers hold the parameters: there is at least one, and they are numbered without
// gaps. Then ps N is a part of worker N's process.
//
// Without a chief, worker 0 stands in, as in TensorFlow: it starts the coordinator beside itself,
// at its own address in TF_CONFIG.
struct TfConfig {
  Address chief;                        // The coordinator's address.
  bool worker_0_is_chief = false;       // TF_CONFIG has no chief.
  std::vector<Address> ps;              // By index.
  std::map<uint32_t, Address> workers;  // By index.
  std::map<uint32_t, Address> evaluators;
  // Absent if TF_CONFIG has no `task`, as for `cairn`.
  std::optional<OwnTask> task;

  // The address of `task`; nullopt without a task, or for an evaluator that is not in the cluster.
  std::optional<Address> OwnAddress() const;
  // Whether `task` is the chief, or stands in for it.
  bool IsChief() const;
  // TF_CONFIG has no ps.
  bool WorkersHoldParameters() const { return ps.empty(); }
  // The addresses of the ps, as Join and Welcome contain them. Without ps those of the workers,
  // which are different ones if a worker stands in for the chief: see Join.address.
  std::vector<std::string> PsAddresses() const;
};

// Parses TensorFlow's TF_CONFIG:
//
//   {"cluster": {"chief": [...], "ps": [...], "worker": [...] or {"7": "host:port"},
//                "evaluator": [...]},
//    "task": {"type": "worker", "index": 0}}
//
// Other keys of TensorFlow (rpc_layer, environment) are ignored. InvalidArgument: the message names
// the place in the JSON ("TF_CONFIG cluster.ps[1]"), the value and the fix. `json` may be any
// bytes; the nesting depth is limited.
absl::StatusOr<TfConfig> ParseTfConfig(std::string_view json);

// The role's name in TF_CONFIG and in messages: "chief", "ps", "worker", "evaluator".
std::string_view RoleName(proto::Role role);

// "worker 3"; "coordinator" for the coordinator.
std::string TaskName(proto::Role role, int64_t index);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_TF_CONFIG_H_

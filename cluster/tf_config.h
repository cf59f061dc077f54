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

// The process that reads a TF_CONFIG, by role and index.
struct OwnTask {
  proto::Role role = proto::ROLE_UNSPECIFIED;
  uint32_t index = 0;
};

// A cluster as TF_CONFIG describes it, checked: one chief, at least one ps without holes in their
// numbering, at least one worker (whose numbering may have holes), no address twice.
struct TfConfig {
  Address chief;                        // Of the coordinator.
  std::vector<Address> ps;              // By index.
  std::map<uint32_t, Address> workers;  // By index.
  std::map<uint32_t, Address> evaluators;
  // Absent when TF_CONFIG has no `task`: as `cairn` reads it.
  std::optional<OwnTask> task;

  // The own task's address; nullopt without a task, or for an evaluator outside the cluster.
  std::optional<Address> OwnAddress() const;
  // The list as it travels in Join and Welcome.
  std::vector<std::string> PsAddresses() const;
};

// Reads TensorFlow's TF_CONFIG: {"cluster": {"chief": [...], "ps": [...], "worker": [...] or
// {"7": "host:port"}, "evaluator": [...]}, "task": {"type": "worker", "index": 0}}. Keys that
// TensorFlow knows and Cairn does not need (rpc_layer, environment) are accepted. InvalidArgument
// names the place in the JSON ("TF_CONFIG cluster.ps[1]"), the value and the fix. `json` may be
// anything: nothing crashes, and nesting is bounded.
absl::StatusOr<TfConfig> ParseTfConfig(std::string_view json);

// The role's name in TF_CONFIG and in messages: "chief", "ps", "worker", "evaluator".
std::string_view RoleName(proto::Role role);

// "worker 3"; the coordinator is just "coordinator".
std::string TaskName(proto::Role role, int64_t index);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_TF_CONFIG_H_

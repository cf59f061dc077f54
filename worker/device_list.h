#ifndef CAIRN_WORKER_DEVICE_LIST_H_
#define CAIRN_WORKER_DEVICE_LIST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::worker {

// A device of this process. Several CPU devices share the cores: each computes with its own
// threads.
struct DeviceName {
  std::string name;  // In messages and job files: "cpu:0".
  std::string kind;  // For nn::CreateDevice: "cpu".
};

// Parses the value of --device: "auto", or a list such as "cpu" or "cpu:0,cpu:1". A device without
// a number has the number 0. InvalidArgument: an unknown kind, or a device that is in the
// list twice.
absl::StatusOr<std::vector<DeviceName>> ParseDeviceList(const std::string& text);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DEVICE_LIST_H_

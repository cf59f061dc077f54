#include "worker/device_list.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "job/strategy.h"

namespace cairn::worker {

absl::StatusOr<std::vector<DeviceName>> ParseDeviceList(const std::string& text) {
  // The best device that can train; see nn::CreateDevice.
  if (text == "auto") return std::vector<DeviceName>{{"cpu:0", "auto"}};
  std::vector<DeviceName> devices;
  for (const std::string& word : std::vector<std::string>(absl::StrSplit(text, ','))) {
    if (!job::IsDeviceName(word)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device: \"", word,
                       "\" is not a device; say auto, cpu, cuda, or a list such as cuda:0,cuda:1"));
    }
    const std::string kind = word.substr(0, word.find(':'));
    const std::string name = kind == word ? kind + ":0" : word;
    const bool is_known = std::any_of(devices.begin(), devices.end(),
                                      [&name](const auto& device) { return device.name == name; });
    if (is_known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--device: ", name, " is in the list twice; name each device once"));
    }
    devices.push_back({name, kind == "cuda" ? name : kind});
  }
  if (devices.size() > job::kDevicesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("--device: ", devices.size(), " devices are more than ", job::kDevicesMax));
  }
  return devices;
}

}  // namespace cairn::worker

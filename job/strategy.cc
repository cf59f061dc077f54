#include "job/strategy.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/plural.h"
#include "common/status_macros.h"
#include "job/field_checks.h"

namespace cairn::job {
namespace {

constexpr int64_t kWindowMax = 32768;

absl::Status CheckParameterServer(const proto::ParameterServerStrategy& strategy) {
  constexpr char kPerUpdate[] = "strategy.parameter_server.batches_per_update";
  constexpr char kWindow[] = "strategy.parameter_server.window";
  const std::string mode = strategy.has_mode() ? strategy.mode() : "async";
  CAIRN_RETURN_IF_ERROR(
      CheckWord("strategy.parameter_server.mode", mode, {"async", "sync", "stale"}));
  if (strategy.has_batches_per_update() && mode != "sync") {
    return BadField(kPerUpdate, "is of mode sync only, the mode is ", mode);
  }
  CAIRN_RETURN_IF_ERROR(CheckRange(kPerUpdate, strategy.has_batches_per_update(),
                                   strategy.batches_per_update(), 1, kBatchesPerUpdateMax));
  if (strategy.has_window() && mode != "stale") {
    return BadField(kWindow, "is of mode stale only, the mode is ", mode);
  }
  if (!strategy.has_window() && mode == "stale") {
    return BadField(kWindow, R"(is missing; mode stale needs it, for example "window": 8)");
  }
  return CheckRange(kWindow, strategy.has_window(), strategy.window(), 0, kWindowMax);
}

// TensorFlow's names of devices, such as "/gpu:0" or "/job:localhost/device:CPU:1", in Cairn's
// form.
std::string DeviceName(const std::string& said) {
  std::string name = absl::AsciiStrToLower(said);
  const size_t last = name.rfind('/');
  if (last != std::string::npos) name = name.substr(last + 1);
  for (const auto& [from, to] : {std::pair("device:", ""), std::pair("gpu", "cuda")}) {
    if (absl::StartsWith(name, from)) name = to + name.substr(std::string_view(from).size());
  }
  return name;
}

template <typename List>
std::vector<std::string> DeviceNames(const List& said) {
  std::vector<std::string> names;
  for (const std::string& name : said) names.push_back(DeviceName(name));
  return names;
}

absl::Status CheckDeviceName(const std::string& path, const std::string& name) {
  if (IsDeviceName(DeviceName(name))) return absl::OkStatus();
  return BadField(
      path, "\"", name,
      "\" is not a device; devices are cpu:0, cpu:1, ..., and cuda:0 or gpu:0, ... (GPUs)");
}

absl::Status CheckDevices(const std::string& path,
                          const google::protobuf::RepeatedPtrField<std::string>& devices) {
  if (devices.size() > kDevicesMax) {
    return BadField(path, "has ", devices.size(), " devices; at most ", kDevicesMax);
  }
  std::set<std::string> seen;
  for (int i = 0; i < devices.size(); ++i) {
    const std::string place = absl::StrCat(path, "[", i, "]");
    CAIRN_RETURN_IF_ERROR(CheckDeviceName(place, devices[i]));
    const std::string name = DeviceName(devices[i]);
    if (devices.size() > 1 && name.find(':') == std::string::npos) {
      return BadField(place, "\"", devices[i],
                      "\" is any of the worker's; in a list of several say ", devices[i], ":0, ",
                      devices[i], ":1, ...");
    }
    if (!seen.insert(name).second) {
      return BadField(place, "\"", devices[i], "\" is in the list already");
    }
  }
  return absl::OkStatus();
}

template <typename Kind>
absl::Status CheckPerUpdate(const std::string& path, const Kind& strategy) {
  return CheckRange(path + ".batches_per_update", strategy.has_batches_per_update(),
                    strategy.batches_per_update(), 1, kBatchesPerUpdateMax);
}

// "cpu" is any of the worker's "cpu:0", "cpu:1".
bool IsAmong(const std::string& name, const std::vector<std::string>& devices) {
  return std::any_of(devices.begin(), devices.end(), [&name](const std::string& device) {
    return device == name || device.substr(0, device.find(':')) == name;
  });
}

template <typename Kind>
UpdateNumbers SynchronousUpdates(const Kind& strategy, int64_t unless_said) {
  return {true, strategy.has_batches_per_update() ? strategy.batches_per_update() : unless_said, 0};
}

}  // namespace

std::string StrategyName(const proto::Strategy& strategy) {
  switch (strategy.kind_case()) {
    case proto::Strategy::kMultiWorkerMirrored:
      return "multi_worker_mirrored";
    case proto::Strategy::kMirrored:
      return "mirrored";
    case proto::Strategy::kCentralStorage:
      return "central_storage";
    case proto::Strategy::kOneDevice:
      return "one_device";
    case proto::Strategy::kParameterServer:
    case proto::Strategy::KIND_NOT_SET:
      break;
  }
  return "parameter_server";
}

bool IsDeviceName(const std::string& name) {
  const size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  if (kind != "cpu" && kind != "cuda") return false;
  if (colon == std::string::npos) return true;
  const std::string number = name.substr(colon + 1);
  return !number.empty() && number.size() <= 4 &&
         std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         (number.size() == 1 || number[0] != '0');
}

bool IsOfOneWorker(const proto::Strategy& strategy) {
  return strategy.has_mirrored() || strategy.has_central_storage() || strategy.has_one_device();
}

bool KeepsReplicas(const proto::Strategy& strategy) {
  if (!strategy.has_multi_worker_mirrored()) return false;
  const proto::MultiWorkerMirroredStrategy& mirrored = strategy.multi_worker_mirrored();
  return !mirrored.has_replicas() || mirrored.replicas();
}

bool NeedsClusterWithoutPs(const proto::Strategy& strategy) {
  return strategy.has_multi_worker_mirrored() || IsOfOneWorker(strategy);
}

std::vector<std::string> NamedDevices(const proto::Strategy& strategy) {
  switch (strategy.kind_case()) {
    case proto::Strategy::kMirrored:
      return DeviceNames(strategy.mirrored().devices());
    case proto::Strategy::kCentralStorage:
      return DeviceNames(strategy.central_storage().compute_devices());
    case proto::Strategy::kOneDevice:
      if (!strategy.one_device().has_device()) return {};
      return {DeviceName(strategy.one_device().device())};
    default:
      return {};
  }
}

absl::Status CheckStrategy(const proto::Strategy& strategy) {
  const std::string path = "strategy." + StrategyName(strategy);
  switch (strategy.kind_case()) {
    case proto::Strategy::kMultiWorkerMirrored:
      return CheckPerUpdate(path, strategy.multi_worker_mirrored());
    case proto::Strategy::kMirrored:
      CAIRN_RETURN_IF_ERROR(CheckDevices(path + ".devices", strategy.mirrored().devices()));
      return CheckPerUpdate(path, strategy.mirrored());
    case proto::Strategy::kCentralStorage: {
      const proto::CentralStorageStrategy& central = strategy.central_storage();
      CAIRN_RETURN_IF_ERROR(CheckDevices(path + ".compute_devices", central.compute_devices()));
      if (central.has_parameter_device()) {
        CAIRN_RETURN_IF_ERROR(
            CheckWord(path + ".parameter_device", central.parameter_device(), {"cpu"}));
      }
      return CheckPerUpdate(path, central);
    }
    case proto::Strategy::kOneDevice:
      if (!strategy.one_device().has_device()) return absl::OkStatus();
      return CheckDeviceName(path + ".device", strategy.one_device().device());
    case proto::Strategy::kParameterServer:
    case proto::Strategy::KIND_NOT_SET:
      return CheckParameterServer(strategy.parameter_server());
  }
  return absl::OkStatus();
}

absl::Status CheckStrategyFits(const proto::Strategy& strategy, const ClusterShape& cluster) {
  if (strategy.kind_case() == proto::Strategy::KIND_NOT_SET) return absl::OkStatus();
  const std::string path = "strategy." + StrategyName(strategy);
  if (strategy.has_parameter_server()) {
    if (cluster.has_ps) return absl::OkStatus();
    return BadField(path,
                    "needs parameter servers, this cluster has none; use a cluster with ps, or "
                    "\"strategy\": {\"multi_worker_mirrored\": {}}");
  }
  if (cluster.has_ps) {
    return BadField(path,
                    "is for a cluster without parameter servers, this one has some; use a cluster "
                    "of workers only (cairn run --ps 0), or \"strategy\": {\"parameter_server\": "
                    "{\"mode\": \"sync\"}}");
  }
  if (!IsOfOneWorker(strategy) || cluster.workers == 1) return absl::OkStatus();
  return BadField(path, "is for a cluster of 1 worker, this one has ",
                  Plural(cluster.workers, "worker"),
                  "; use \"strategy\": {\"multi_worker_mirrored\": {}}");
}

absl::Status CheckDevicesFit(const proto::Strategy& strategy,
                             const std::vector<std::string>& devices) {
  const std::string path = "strategy." + StrategyName(strategy);
  for (const std::string& name : NamedDevices(strategy)) {
    if (IsAmong(name, devices)) continue;
    return BadField(path, "the worker has no device ", name, "; it has ",
                    absl::StrJoin(devices, ", "),
                    " (start it with another --device, or name one of these)");
  }
  if (!strategy.has_one_device() || devices.size() <= 1) return absl::OkStatus();
  const std::string device = DeviceName(strategy.one_device().device());
  if (device.find(':') != std::string::npos) return absl::OkStatus();
  return BadField(path, "the worker has ", devices.size(),
                  " devices: ", absl::StrJoin(devices, ", "),
                  "; name one as \"device\", or use \"mirrored\"");
}

UpdateNumbers UpdateNumbersOf(const proto::Strategy& strategy) {
  const auto named = static_cast<int64_t>(NamedDevices(strategy).size());
  switch (strategy.kind_case()) {
    case proto::Strategy::kMultiWorkerMirrored:
      return SynchronousUpdates(strategy.multi_worker_mirrored(), 0);
    case proto::Strategy::kMirrored:
      return SynchronousUpdates(strategy.mirrored(), named);
    case proto::Strategy::kCentralStorage:
      return SynchronousUpdates(strategy.central_storage(), named);
    case proto::Strategy::kOneDevice:
      return {true, 1, 0};
    case proto::Strategy::kParameterServer:
    case proto::Strategy::KIND_NOT_SET:
      break;
  }
  const proto::ParameterServerStrategy& ps = strategy.parameter_server();
  if (ps.mode() == "sync") return SynchronousUpdates(ps, 0);
  if (ps.mode() == "stale") return {false, 1, ps.window()};
  return {};
}

}  // namespace cairn::job

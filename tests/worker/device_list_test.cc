#include "worker/device_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::worker {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs Parsed(const std::string& text) {
  const auto devices = ParseDeviceList(text);
  EXPECT_TRUE(devices.ok()) << devices.status();
  Pairs pairs;
  if (!devices.ok()) return pairs;
  for (const DeviceName& device : *devices) pairs.emplace_back(device.name, device.kind);
  return pairs;
}

TEST(DeviceListTest, DevicesAreNumberedInTheirKind) {
  EXPECT_EQ(Parsed("auto"), (Pairs{{"cpu:0", "auto"}}));
  EXPECT_EQ(Parsed("cpu"), (Pairs{{"cpu:0", "cpu"}}));
  EXPECT_EQ(Parsed("cuda"), (Pairs{{"cuda:0", "cuda:0"}}));
  EXPECT_EQ(Parsed("cuda,cuda:3,cpu"),
            (Pairs{{"cuda:0", "cuda:0"}, {"cuda:3", "cuda:3"}, {"cpu:0", "cpu"}}));
  EXPECT_EQ(Parsed("cpu:0,cpu:1,cpu:12"),
            (Pairs{{"cpu:0", "cpu"}, {"cpu:1", "cpu"}, {"cpu:12", "cpu"}}));
}

TEST(DeviceListTest, BadListsAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "\"\" is not a device"},
      {"cpu:0,", "\"\" is not a device"},
      {"gpu:0", "\"gpu:0\" is not a device"},
      {"cpu:-1", "\"cpu:-1\" is not a device"},
      {"cpu:01", "\"cpu:01\" is not a device"},
      {"cpu:99999", "\"cpu:99999\" is not a device"},
      {"cpu, cpu:1", "\" cpu:1\" is not a device"},
      {"auto,cpu:1", "\"auto\" is not a device"},
      {"cpu:1,cpu:1", "cpu:1 is in the list twice"},
      {"cpu,cpu:0", "cpu:0 is in the list twice"},
      {"cuda:1,cuda:1", "cuda:1 is in the list twice"},
  };
  for (const auto& [text, part] : cases) {
    const auto devices = ParseDeviceList(text);
    EXPECT_EQ(devices.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(devices.status().message().find(part), std::string::npos) << devices.status();
  }
  std::string many = "cpu:0";
  for (int i = 1; i <= 64; ++i) many += ",cpu:" + std::to_string(i);
  EXPECT_NE(ParseDeviceList(many).status().message().find("65 devices are more than 64"),
            std::string::npos);
}

}  // namespace
}  // namespace cairn::worker

#include "job/strategy.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::job {
namespace {

proto::Strategy Strategy(const std::string& text) {
  proto::Strategy strategy;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &strategy)) << text;
  return strategy;
}

struct Numbers {
  std::string strategy;
  bool synchronous;
  int64_t batches_per_update;
  int64_t window;
};

TEST(StrategyTest, AllButParameterServerAreSynchronous) {
  const std::vector<Numbers> cases = {
      {"", false, 1, -1},
      {"parameter_server { }", false, 1, -1},
      {"parameter_server { mode: 'sync' }", true, 0, 0},
      {"parameter_server { mode: 'sync' batches_per_update: 7 }", true, 7, 0},
      {"parameter_server { mode: 'stale' window: 5 }", false, 1, 5},
      {"multi_worker_mirrored { }", true, 0, 0},
      {"multi_worker_mirrored { batches_per_update: 3 }", true, 3, 0},
      {"mirrored { }", true, 0, 0},
      {"mirrored { devices: ['cpu:0', 'cpu:1', 'cpu:2'] }", true, 3, 0},
      {"mirrored { devices: ['cpu:0', 'cpu:1'] batches_per_update: 8 }", true, 8, 0},
      {"central_storage { compute_devices: ['cpu:0', 'cpu:1'] }", true, 2, 0},
      {"one_device { }", true, 1, 0},
      {"one_device { device: 'cpu:0' }", true, 1, 0},
  };
  for (const Numbers& expected : cases) {
    const UpdateNumbers numbers = UpdateNumbersOf(Strategy(expected.strategy));
    EXPECT_EQ(numbers.synchronous, expected.synchronous) << expected.strategy;
    EXPECT_EQ(numbers.batches_per_update, expected.batches_per_update) << expected.strategy;
    EXPECT_EQ(numbers.window, expected.window) << expected.strategy;
    EXPECT_TRUE(CheckStrategy(Strategy(expected.strategy)).ok()) << expected.strategy;
  }
}

struct Refusal {
  std::string strategy;
  std::string message;  // Its begin.
};

TEST(StrategyTest, OnlyMirroredWorkersKeepReplicasUnlessTheJobSaysNo) {
  proto::Strategy strategy;
  EXPECT_FALSE(KeepsReplicas(strategy));
  strategy.mutable_mirrored();
  EXPECT_FALSE(KeepsReplicas(strategy));
  strategy.mutable_multi_worker_mirrored();
  EXPECT_TRUE(KeepsReplicas(strategy));
  strategy.mutable_multi_worker_mirrored()->set_replicas(false);
  EXPECT_FALSE(KeepsReplicas(strategy));
}

TEST(StrategyTest, BadFieldsAreRefused) {
  std::string many = "mirrored {";
  for (int i = 0; i < 65; ++i) many += " devices: 'cpu:" + std::to_string(i) + "'";
  const std::vector<Refusal> cases = {
      {"multi_worker_mirrored { batches_per_update: 0 }",
       "strategy.multi_worker_mirrored.batches_per_update: 0 is not from 1 to 4096"},
      {"mirrored { batches_per_update: 4097 }",
       "strategy.mirrored.batches_per_update: 4097 is not from 1 to 4096"},
      {"central_storage { batches_per_update: -1 }",
       "strategy.central_storage.batches_per_update: -1 is not from 1 to 4096"},
      {"mirrored { devices: ['cpu:0', 'TPU:0'] }",
       "strategy.mirrored.devices[1]: \"TPU:0\" is not a device; devices are cpu:0, cpu:1, ..., "
       "and cuda:0 or gpu:0, ... (GPUs)"},
      {"mirrored { devices: ['cpu:0', '/device:CPU:0'] }",
       "strategy.mirrored.devices[1]: \"/device:CPU:0\" is in the list already"},
      {"one_device { device: '/gpu:' }", "strategy.one_device.device: \"/gpu:\" is not a device"},
      {"one_device { device: '/' }", "strategy.one_device.device: \"/\" is not a device"},
      {"mirrored { devices: ['cpu', 'cpu:0'] }",
       "strategy.mirrored.devices[0]: \"cpu\" is any of the worker's; in a list of several say "
       "cpu:0, cpu:1, ..."},
      {"mirrored { devices: ['cpu:0', 'cpu:0'] }",
       "strategy.mirrored.devices[1]: \"cpu:0\" is in the list already"},
      {many + " }", "strategy.mirrored.devices: has 65 devices; at most 64"},
      {"central_storage { compute_devices: 'cpu:x' }",
       "strategy.central_storage.compute_devices[0]: \"cpu:x\" is not a device"},
      {"central_storage { parameter_device: 'gpu' }",
       "strategy.central_storage.parameter_device: \"gpu\" is not one of cpu"},
      {"one_device { device: '' }", "strategy.one_device.device: \"\" is not a device"},
  };
  for (const Refusal& refusal : cases) {
    const absl::Status status = CheckStrategy(Strategy(refusal.strategy));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << refusal.strategy;
    EXPECT_EQ(std::string(status.message()).rfind(refusal.message, 0), 0u) << status;
  }
}

TEST(StrategyTest, EachFitsItsClustersOnly) {
  constexpr ClusterShape kPs = {.has_ps = true, .workers = 1};
  constexpr ClusterShape kOne = {.has_ps = false, .workers = 1};
  constexpr ClusterShape kTwo = {.has_ps = false, .workers = 2};
  const auto fits = [](const std::string& strategy, const ClusterShape& cluster) {
    return CheckStrategyFits(Strategy(strategy), cluster).ok();
  };
  for (const ClusterShape& cluster : {kPs, kOne, kTwo}) EXPECT_TRUE(fits("", cluster));
  EXPECT_TRUE(fits("parameter_server { }", kPs));
  EXPECT_FALSE(fits("parameter_server { }", kOne));
  EXPECT_FALSE(fits("multi_worker_mirrored { }", kPs));
  EXPECT_TRUE(fits("multi_worker_mirrored { }", kOne));
  EXPECT_TRUE(fits("multi_worker_mirrored { }", kTwo));
  for (const char* const strategy : {"mirrored { }", "central_storage { }", "one_device { }"}) {
    EXPECT_FALSE(fits(strategy, kPs)) << strategy;
    EXPECT_TRUE(fits(strategy, kOne)) << strategy;
    EXPECT_FALSE(fits(strategy, kTwo)) << strategy;
    EXPECT_TRUE(NeedsClusterWithoutPs(Strategy(strategy)));
    EXPECT_TRUE(IsOfOneWorker(Strategy(strategy)));
  }
  EXPECT_TRUE(NeedsClusterWithoutPs(Strategy("multi_worker_mirrored { }")));
  EXPECT_FALSE(NeedsClusterWithoutPs(Strategy("")));
}

TEST(StrategyTest, TheWorkerMustHaveTheNamedDevices) {
  const auto fits = [](const std::string& strategy, const std::vector<std::string>& devices) {
    return CheckDevicesFit(Strategy(strategy), devices).ok();
  };
  EXPECT_TRUE(fits("mirrored { }", {"cpu:0"}));
  EXPECT_TRUE(fits("mirrored { devices: ['cpu:1', 'cpu:0'] }", {"cpu:0", "cpu:1", "cpu:2"}));
  EXPECT_FALSE(fits("mirrored { devices: ['cpu:0', 'cpu:1'] }", {"cpu:0"}));
  EXPECT_TRUE(fits("one_device { device: 'cpu' }", {"cpu:0"}));
  EXPECT_FALSE(fits("one_device { device: 'cuda' }", {"cpu:0"}));
  EXPECT_FALSE(fits("one_device { }", {"cpu:0", "cpu:1"}));
  EXPECT_FALSE(fits("one_device { device: 'cpu' }", {"cpu:0", "cpu:1"})) << "which one?";
  EXPECT_TRUE(fits("one_device { device: '/cpu:1' }", {"cpu:0", "cpu:1"}));
  EXPECT_FALSE(fits("one_device { device: '/cpu:2' }", {"cpu:0", "cpu:1"}));
  EXPECT_EQ(NamedDevices(Strategy("central_storage { compute_devices: ['cpu:0', 'cpu:3'] }")),
            (std::vector<std::string>{"cpu:0", "cpu:3"}));
  // As TensorFlow writes them.
  EXPECT_EQ(NamedDevices(Strategy("mirrored { devices: ['/cpu:0', '/gpu:1', 'GPU:2', "
                                  "'/job:localhost/replica:0/task:0/device:CPU:3'] }")),
            (std::vector<std::string>{"cpu:0", "cuda:1", "cuda:2", "cpu:3"}));
}

}  // namespace
}  // namespace cairn::job

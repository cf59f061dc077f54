// `cairn drill` on a synchronous job with a convolution, batch normalization and an LSTM: under
// each plan, with 1 and 2 threads, with and without ps, the final values have the bits of the run
// without faults.

#include <filesystem>
#include <random>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr int kImage = 8;
constexpr int kChannels = 8;
constexpr int kClasses = 4;
// Most of a drill is waiting for leases to end. With slower steps the machine is idle meanwhile, so
// several drills run at the same time, and a fault takes about this many epochs of 125 batches.
constexpr char kStepMilliseconds[] = "10";
constexpr int kEpochsOfFault = 4;

json Layer(const std::string& class_name, json config) {
  return {{"class_name", class_name}, {"config", std::move(config)}};
}

// Returns the path of the job file.
std::string WriteMixedJob(const std::string& folder, const json& strategy, int epochs) {
  std::filesystem::create_directories(folder);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  constexpr int64_t kExamples = 2000;
  Array x{{kExamples, kImage, kImage, 1}, {}};
  Array y{{kExamples}, {}};
  for (int64_t i = 0; i < kExamples; ++i) {
    const int label = static_cast<int>(i % kClasses);
    // Two rows of each image are brighter.
    for (int row = 0; row < kImage; ++row) {
      for (int column = 0; column < kImage; ++column) {
        x.values.push_back(normal(random) + (row / 2 == label ? 1.F : 0.F));
      }
    }
    y.values.push_back(static_cast<float>(label));
  }
  WriteFile(folder + "/x.npy", EncodeNpy(x));
  WriteFile(folder + "/y.npy", EncodeNpy(y));
  const json layers = {
      Layer("Conv2D", {{"name", "conv"},
                       {"filters", kChannels},
                       {"kernel_size", {3, 3}},
                       {"padding", "same"},
                       {"batch_input_shape", {nullptr, kImage, kImage, 1}}}),
      Layer("BatchNormalization", {{"name", "normalization"}}),
      Layer("Activation", {{"name", "relu"}, {"activation", "relu"}}),
      Layer("Reshape", {{"name", "rows"}, {"target_shape", {kImage, kImage * kChannels}}}),
      Layer("LSTM", {{"name", "lstm"}, {"units", 16}}),
      Layer("Dense", {{"name", "out"}, {"units", kClasses}, {"activation", "softmax"}})};
  WriteFile(folder + "/model.json", json({{"class_name", "Sequential"},
                                          {"config", {{"name", "mixed"}, {"layers", layers}}}})
                                        .dump());
  const json job = {{"name", "mixed"},
                    {"model", "model.json"},
                    {"train", {{"npy", {{"features", "x.npy"}, {"labels", "y.npy"}}}}},
                    {"loss", "sparse_categorical_crossentropy"},
                    {"metrics", {"accuracy"}},
                    {"optimizer", {{"name", "adam"}, {"learning_rate", 0.003}}},
                    {"batch_size", 16},
                    {"epochs", epochs},
                    {"seed", 5},
                    {"strategy", strategy},
                    {"checkpoint", {{"every_steps", 100}}},
                    {"partitioner", {{"min_slice_bytes", 64}}}};
  WriteFile(folder + "/job.json", job.dump());
  return folder + "/job.json";
}

struct Case {
  std::string plan;
  int faults;
  int threads;
  bool has_ps = true;
  // A job that ends before the last fault would be trained again, with four times as many.
  int epochs_of_fault = kEpochsOfFault;
};

json StrategyOf(const Case& drill) {
  if (!drill.has_ps) return {{"multi_worker_mirrored", {{"batches_per_update", 2}}}};
  return {{"parameter_server", {{"mode", "sync"}, {"batches_per_update", 2}}}};
}

class DrillBits : public ::testing::TestWithParam<Case> {};

TEST_P(DrillBits, AreThoseOfTheRunWithoutFaults) {
  const TemporaryFolder folder;
  const CommandResult result =
      RunCairn({"drill",
                WriteMixedJob(folder.path("job"), StrategyOf(GetParam()),
                              GetParam().epochs_of_fault * GetParam().faults),
                "--plan", GetParam().plan, "--faults", std::to_string(GetParam().faults),
                "--threads", std::to_string(GetParam().threads), "--step_delay", kStepMilliseconds,
                "--output", folder.path("drill"), "--json"},
               seconds(800));
  ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  const json report = result.lines().back();
  EXPECT_EQ(report["verdict"], "passed") << report;
  EXPECT_EQ(report["compared"], "bits");
  EXPECT_GT(report["values"], 5000);
  EXPECT_EQ(report["different_values"], 0);
  EXPECT_EQ(report["faults"].size(), GetParam().faults);
  for (const json& fault : report["faults"]) EXPECT_TRUE(fault["fired"]) << fault;
}

std::vector<Case> CasesOfSuite() {
  return {{"workers", 3, 1},
          {"ps", 2, 2},
          {"coordinator", 2, 1},
          {"everything", 2, 2},
          {"hangs", 3, 1},
          {"partitions", 4, 2},
          {"disk", 10, 1, true, 2 * kEpochsOfFault},
          {"workers", 3, 1, false},
          {"everything", 2, 1, false},
          {"hangs", 2, 1, false},
          {"partitions", 4, 1, false},
          {"disk", 4, 1, false}};
}

std::vector<Case> WithTheOtherThreads(std::vector<Case> cases) {
  for (Case& drill : cases) drill.threads = 3 - drill.threads;
  return cases;
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  return info.param.plan + (info.param.has_ps ? "" : "_without_ps");
}

INSTANTIATE_TEST_SUITE_P(Plans, DrillBits, ::testing::ValuesIn(CasesOfSuite()), NameOf);
// Each plan with 2 threads instead of 1, or the other way round. About a minute each:
// --gtest_also_run_disabled_tests --gtest_filter='DISABLED_OtherThreads*'.
INSTANTIATE_TEST_SUITE_P(DISABLED_OtherThreads, DrillBits,
                         ::testing::ValuesIn(WithTheOtherThreads(CasesOfSuite())), NameOf);

}  // namespace
}  // namespace cairn::testing

// Compares whole runs with TensorFlow.js: real daemons train the reference models from the
// reference weights, and the loss of every step, every final weight and the prediction must agree.

#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/end_to_end/arrays.h"
#include "tests/end_to_end/process.h"
#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-4;

std::string OracleFolder(const std::string& name) {
  const char* oracle = std::getenv("CAIRN_ORACLE");
  if (oracle == nullptr) return "";
  const std::string folder = std::string(oracle) + "/" + name;
  return std::filesystem::exists(folder + "/case.json") ? folder : "";
}

std::vector<float> Floats(const json& numbers) { return numbers.get<std::vector<float>>(); }

struct ReferenceRun {
  std::string folder;  // The folder of the reference case.
  int ps = 1;
  int workers = 1;
};

class OracleRun : public ::testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  // Trains the case, each of its batches split over `run.workers`.
  void Train(const ReferenceRun& run) {
    const json reference = json::parse(ReadFile(run.folder + "/case.json"));
    json features = json::array();
    for (const auto& input : reference.at("inputs"))
      features.push_back(run.folder + "/" + input.get<std::string>());
    const json job = {
        {"name", "reference"},
        {"model", run.folder + "/model/model.json"},
        {"train",
         {{"npy",
           {{"features", features},
            {"labels", run.folder + "/" + reference.at("labels").get<std::string>()}}}}},
        {"loss", reference.at("loss")},
        {"optimizer", reference.at("optimizer")},
        {"batch_size", reference.at("batch_size").get<int>() / run.workers},
        {"steps", reference.at("steps").get<int>() * run.workers},
        {"shuffle", false},
        {"strategy",
         {{"parameter_server", {{"mode", "sync"}, {"batches_per_update", run.workers}}}}},
        {"partitioner", {{"min_slice_bytes", 64}}}};
    WriteFile(temporary_.path("job.json"), job.dump());
    const CommandResult result =
        RunCairn({"run", temporary_.path("job.json"), "--ps", std::to_string(run.ps), "--workers",
                  std::to_string(run.workers), "--state", temporary_.path("state"), "--export",
                  temporary_.path("export")});
    ASSERT_EQ(result.exit_code, 0) << result.output << result.errors;
  }

  std::vector<float> LossesOfSteps() {
    const CommandResult result =
        RunCairn({"history", "reference", "--json", "--state", temporary_.path("state")});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    std::vector<float> losses;
    for (const json& line : result.lines()) {
      if (!line.contains("batch")) continue;
      EXPECT_TRUE(line.at("loss").is_number()) << line;
      losses.push_back(line.value("loss", 0.0f));
    }
    return losses;
  }

  void ExpectWeightsAndPrediction(const ReferenceRun& run) {
    const json expected = json::parse(ReadFile(run.folder + "/expected.json"));
    const auto weights = ReadTfjsWeights(temporary_.path("export"));
    EXPECT_EQ(weights.size(), expected.at("weights_after_last_update").size());
    for (const auto& [name, weight] : expected.at("weights_after_last_update").items()) {
      ASSERT_TRUE(weights.contains(name)) << name << " is not in the export";
      EXPECT_LE(LargestDifference(weights.at(name).values, Floats(weight.at("values"))), kTolerance)
          << name;
    }
    ExpectPrediction(run, expected.at("prediction_on_first_batch_after_training"));
  }

  void ExpectPrediction(const ReferenceRun& run, const json& expected) {
    std::vector<std::string> arguments = {"predict",  "reference",
                                          "--state",  temporary_.path("state"),
                                          "--output", temporary_.path("prediction.npy")};
    const json reference = json::parse(ReadFile(run.folder + "/case.json"));
    for (const auto& input : reference.at("inputs")) {
      arguments.push_back("--input");
      arguments.push_back(run.folder + "/" + input.get<std::string>());
    }
    const CommandResult result = RunCairn(arguments);
    ASSERT_EQ(result.exit_code, 0) << result.errors;
    Array prediction = DecodeNpy(ReadFile(temporary_.path("prediction.npy")));
    const std::vector<float> first_batch = Floats(expected.at("values"));
    ASSERT_GE(prediction.values.size(), first_batch.size());
    prediction.values.resize(first_batch.size());
    EXPECT_LE(LargestDifference(prediction.values, first_batch), kTolerance);
  }

  TemporaryFolder temporary_;
};

TEST_P(OracleRun, AgreesWithTensorFlowStepByStep) {
  const auto& [name, ps] = GetParam();
  const ReferenceRun run{OracleFolder(name), ps, 1};
  if (run.folder.empty()) GTEST_SKIP() << "CAIRN_ORACLE does not name the reference runs";
  ASSERT_NO_FATAL_FAILURE(Train(run));
  const json expected = json::parse(ReadFile(run.folder + "/expected.json"));
  EXPECT_LE(LargestDifference(LossesOfSteps(), Floats(expected.at("loss_before_each_update"))),
            kTolerance);
  ExpectWeightsAndPrediction(run);
}

INSTANTIATE_TEST_SUITE_P(
    AllCases, OracleRun,
    ::testing::Combine(::testing::Values("cifar_cnn", "conv_strides_bn", "frozen_base", "mlp_adam",
                                         "mlp_momentum", "mlp_sgd", "regression_mse", "wide_deep"),
                       ::testing::Values(1, 2, 3)),
    [](const auto& info) {
      return std::get<0>(info.param) + "_" + std::to_string(std::get<1>(info.param)) + "ps";
    });

class OracleRunOnTwoWorkers : public OracleRun {};

TEST_P(OracleRunOnTwoWorkers, TwoHalfBatchesReduceToTheWholeBatch) {
  const auto& [name, ps] = GetParam();
  const ReferenceRun run{OracleFolder(name), ps, 2};
  if (run.folder.empty()) GTEST_SKIP() << "CAIRN_ORACLE does not name the reference runs";
  ASSERT_NO_FATAL_FAILURE(Train(run));
  const json expected = json::parse(ReadFile(run.folder + "/expected.json"));
  const std::vector<float> halves = LossesOfSteps();
  std::vector<float> means;
  for (size_t i = 0; i + 1 < halves.size(); i += 2)
    means.push_back((halves[i] + halves[i + 1]) / 2);
  EXPECT_LE(LargestDifference(means, Floats(expected.at("loss_before_each_update"))), kTolerance);
  ExpectWeightsAndPrediction(run);
}

INSTANTIATE_TEST_SUITE_P(WithoutBatchNormalization, OracleRunOnTwoWorkers,
                         ::testing::Combine(::testing::Values("cifar_cnn", "frozen_base",
                                                              "mlp_adam", "mlp_momentum", "mlp_sgd",
                                                              "regression_mse", "wide_deep"),
                                            ::testing::Values(2)),
                         [](const auto& info) { return std::get<0>(info.param); });

}  // namespace
}  // namespace cairn::testing

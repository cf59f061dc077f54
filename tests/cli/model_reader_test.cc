#include "cli/model_reader.h"

#include <limits>

#include "cli/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = testing::TempDir() + "/model_reader_" + test->name();
  }

  // A TF.js model of the example, its bias before its kernel, under these names.
  std::string WriteTfjs(const std::string& kernel, const std::string& bias, int kernel_rows = 4,
                        float first_weight = 100) {
    const std::vector<float> weights = {first_weight, 200, 300, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                        10,           11};
    const json model = {
        {"format", "layers-model"},
        {"modelTopology", {{"model_config", json::parse(ExampleModelJson())}}},
        {"weightsManifest",
         {{{"paths", {"weights.bin"}},
           {"weights",
            {{{"name", bias}, {"shape", {3}}, {"dtype", "float32"}},
             {{"name", kernel}, {"shape", {kernel_rows, 3}}, {"dtype", "float32"}}}}}}}};
    EXPECT_TRUE(WriteFile(folder_ + "/weights.bin",
                          {reinterpret_cast<const char*>(weights.data()),
                           static_cast<size_t>(3 + 3 * kernel_rows) * sizeof(float)})
                    .ok());
    EXPECT_TRUE(WriteFile(folder_ + "/model.json", model.dump()).ok());
    return folder_ + "/model.json";
  }

  std::string folder_;
};

TEST_F(ModelReaderTest, ArchitectureAloneHasNoWeights) {
  ASSERT_TRUE(WriteFile(folder_ + "/keras.json", ExampleModelJson()).ok());
  const auto model = ReadModelFile(folder_ + "/keras.json");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(model->weights.empty());
  EXPECT_EQ(model->spec.layers().rbegin()->name(), "dense");
}

TEST_F(ModelReaderTest, TheFolderOfATfjsModelStandsForItsFile) {
  WriteTfjs("dense/kernel", "dense/bias");
  const auto model = ReadModelFile(folder_);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->weights, ExampleValues());
  EXPECT_THAT(std::string(ReadModelFile(testing::TempDir()).status().message()),
              HasSubstr("it is a folder"));
}

TEST_F(ModelReaderTest, WeightsComeInTheOrderOfTheModelsVariablesAndKeepTheirNames) {
  const auto model = ReadModelFile(WriteTfjs("example/dense/kernel:0", "dense/bias"));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->weights, ExampleValues());
  EXPECT_THAT(model->spec.weight_names(), ElementsAre("example/dense/kernel:0", "dense/bias"));
}

TEST_F(ModelReaderTest, TheExactNameWins) {
  // Both could be the kernel; the file then lacks the bias.
  EXPECT_THAT(
      std::string(ReadModelFile(WriteTfjs("dense/kernel", "a/dense/kernel")).status().message()),
      HasSubstr("no weight for the model's dense/bias"));
}

TEST_F(ModelReaderTest, WeightsThatDoNotFitAreRefusedByName) {
  EXPECT_THAT(
      std::string(ReadModelFile(WriteTfjs("other/kernel", "dense/bias")).status().message()),
      HasSubstr("dense/kernel"));
  EXPECT_THAT(
      std::string(ReadModelFile(WriteTfjs("dense/kernel", "dense/bias", 2)).status().message()),
      HasSubstr("has the shape (2, 3), the model needs (4, 3)"));
}

TEST_F(ModelReaderTest, TheNameOfACellInAVariablesPathIsKerassOwn) {
  EXPECT_TRUE(
      ReadModelFile(WriteTfjs("example/dense/lstm_cell/kernel:0", "dense/gru_cell_1/bias")).ok());
}

TEST_F(ModelReaderTest, WeightsThatAreNoNumbersAreRefusedByNameAndPlace) {
  const float no_number = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(
      std::string(
          ReadModelFile(WriteTfjs("dense/kernel", "dense/bias", 4, no_number)).status().message()),
      HasSubstr("weight dense/bias is nan at element 0"));
}

TEST_F(ModelReaderTest, ErrorsNameTheFile) {
  const std::string file = WriteTfjs("dense/kernel", "dense/bias");
  ASSERT_TRUE(WriteFile(folder_ + "/weights.bin", "short").ok());
  EXPECT_THAT(std::string(ReadModelFile(file).status().message()), HasSubstr(file));
  EXPECT_EQ(ReadModelFile("/no/model.json").status().code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(WriteFile(file, "{").ok());
  EXPECT_THAT(std::string(ReadModelFile(file).status().message()), HasSubstr(file));
}

}  // namespace
}  // namespace cairn::cli

#include "cli/model/prediction_file.h"

#include <cstdlib>
#include <limits>

#include "cli/files.h"
#include "common/npy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Written(const std::string& name, const Prediction& prediction) {
  const std::string file = testing::TempDir() + "/prediction_file_test_" + name;
  EXPECT_TRUE(CheckPredictionFile("--output", file).ok()) << name;
  EXPECT_TRUE(WritePrediction(file, prediction).ok()) << name;
  return *ReadFile(file);
}

TEST(PredictionFileTest, CsvHasALineForEachExampleAndAColumnForEachClass) {
  const Prediction prediction = {
      .output = "kind", .shape = {2, 3}, .values = {0.25f, 0.5f, 0.25f, 1, 0, -3}};
  EXPECT_EQ(Written("y.csv", prediction), "kind_0,kind_1,kind_2\n0.25,0.5,0.25\n1,0,-3\n");
  EXPECT_EQ(Written("y.CSV", prediction), Written("y.csv", prediction));
}

TEST(PredictionFileTest, CsvColumnsOfSeveralAxesHaveThePlaceOnEach) {
  EXPECT_EQ(Written("boxes.csv", {.output = "boxes", .shape = {1, 2, 2}, .values = {1, 2, 3, 4}}),
            "boxes_0_0,boxes_0_1,boxes_1_0,boxes_1_1\n1,2,3,4\n");
  EXPECT_EQ(Written("one.csv", {.output = "size", .shape = {2}, .values = {1, 2}}), "size\n1\n2\n");
  EXPECT_EQ(Written("odd.csv", {.output = "a,\"b\"", .shape = {1, 1}, .values = {1}}),
            "\"a,\"\"b\"\"_0\"\n1\n");
}

TEST(PredictionFileTest, CsvNumbersAreReadBackToTheLastBit) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> values = {
      0.1f, 1.0f / 3, Limits::max(), Limits::min(), Limits::denorm_min(), -1e-7f, 16777217.0f};
  const std::string text =
      Written("exact.csv",
              {.output = "y", .shape = {static_cast<int64_t>(values.size())}, .values = values});
  const char* at = text.c_str() + text.find('\n');
  for (const float value : values) {
    char* end = nullptr;
    EXPECT_EQ(std::strtof(at, &end), value);
    at = end;
  }
  EXPECT_EQ(Written("nan.csv",
                    {.output = "y",
                     .shape = {3},
                     .values = {-Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}}),
            "y\nnan\ninf\n-inf\n");
}

TEST(PredictionFileTest, NpyIsAnArrayInTheOutputsShape) {
  const std::string file =
      Written("y.npy", {.output = "y", .shape = {2, 2}, .values = {1, 2, 3, 4}});
  const auto header = ParseNpyHeader(file, file.size());
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_THAT(header->shape, ElementsAre(2, 2));
  std::vector<float> values(4);
  ASSERT_TRUE(
      DecodeNpyAsFloat(*header, file.substr(header->data_offset), absl::MakeSpan(values)).ok());
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4));
}

TEST(PredictionFileTest, OtherNamesAreRefused) {
  for (const char* name : {"y.txt", "y", "csv", "y.npy.gz", "y.npz", "y.csv.gz"}) {
    EXPECT_EQ(CheckPredictionFile("--output", name).message(),
              std::string("--output: ") + name +
                  " must end in .npy (a NumPy array) or .csv (text, one line for each "
                  "example)");
  }
  EXPECT_TRUE(CheckPredictionFile("--output", "/dev/null").ok());
}

}  // namespace
}  // namespace cairn::cli

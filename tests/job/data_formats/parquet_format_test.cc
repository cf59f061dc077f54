#include "job/data_formats/parquet_format.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

using ::testing::HasSubstr;

proto::DataSource SourceOf(const std::string& json) {
  proto::DataSource source;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(R"({"parquet": )" + json + "}", &source).ok())
      << json;
  return source;
}

constexpr char kColumns[] = R"("features": [{"name": "x"}], "labels": [{"name": "y"}])";

TEST(ParquetFormatTest, ColumnsAndFilterAreChecked) {
  const auto check = [](const std::string& json, bool needs_labels = true) {
    return std::string(
        ParquetFormat().check("t.parquet", SourceOf(json), {.labels = needs_labels}).message());
  };
  EXPECT_EQ(check(std::string("{") + kColumns + "}"), "");
  EXPECT_EQ(check(R"({"features": [{"name": "x"}]})", false), "");
  EXPECT_EQ(check("{}"), "t.parquet.features: is missing; name the columns of the model's input");
  EXPECT_EQ(check(R"({"features": [{"name": "x"}]})"),
            "t.parquet.labels: is missing; name the column of the labels");
  EXPECT_EQ(check(std::string("{") + kColumns + R"(, "filter": "year > 2000"})"), "");
  EXPECT_THAT(check(std::string("{") + kColumns + R"(, "filter": "year >"})"),
              HasSubstr("t.parquet.filter: \"year >\", character 7: expected a number"));
}

TEST(ParquetFormatTest, ColumnsBelongToTheModelsInputs) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 2]})"}, {"out", "Dense", R"({"units": 3})"}});
  const auto source =
      SourceOf(R"({"features": [{"name": "x", "input": "n"}], "labels": [{"name": "y"}]})");
  EXPECT_EQ(ParquetFormat().check_model("t", source, *model).message(),
            "t.features[0].input: the model has no input \"n\"; it has in");
}

TEST(ParquetFormatTest, ValidationHasTheColumnsOfTrainingAndAFilterOfItsOwn) {
  const auto train = SourceOf(std::string("{") + kColumns + R"(, "filter": "a = 1"})");
  proto::DataSource validation;
  ParquetFormat().inherit(train, &validation);
  EXPECT_EQ(validation.parquet().features(0).name(), "x");
  EXPECT_EQ(validation.parquet().labels(0).name(), "y");
  EXPECT_FALSE(validation.parquet().has_filter());
}

}  // namespace
}  // namespace cairn::job

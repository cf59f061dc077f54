#include "job/data_formats/tfrecord_format.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

proto::DataSource SourceOf(const std::string& json) {
  proto::DataSource source;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage(R"({"tfrecord": )" + json + "}", &source).ok())
      << json;
  return source;
}

std::string Check(const std::string& json) {
  return std::string(TfrecordFormat().check("t", SourceOf(json), {}).message());
}

std::string CheckFeature(const std::string& feature) {
  return Check(R"({"features": [)" + feature + R"(], "labels": [{"name": "y"}]})");
}

TEST(TfrecordFormatTest, GoodFeaturesAreAccepted) {
  for (const char* const feature :
       {R"({"name": "x"})", R"({"name": "x", "shape": [2, 3], "default": 1, "dtype": "int64"})",
        R"({"name": "x", "maxLength": 5, "padding": -1})",
        R"({"name": "x", "decode": "raw", "dtype": "uint8"})",
        R"({"name": "x", "decode": "tensor", "dtype": "float32", "shape": [2, 3]})",
        R"({"name": "x", "decode": "image"})",
        R"({"name": "x", "decode": "image", "shape": [4, 5, 3]})",
        R"({"name": "x", "vocabulary": ["a"], "unknown": true})"}) {
    EXPECT_EQ(CheckFeature(feature), "");
  }
}

TEST(TfrecordFormatTest, EveryMistakeIsNamedWithItsPath) {
  EXPECT_EQ(Check("{}"), "t.features: is missing; name the features of the model's input");
  EXPECT_EQ(Check(R"({"features": [{"name": "x"}]})"),
            "t.labels: is missing; name the feature of the labels");
  const struct {
    const char* feature;
    const char* message;
  } cases[] = {
      {"{}", "name: is missing; name a feature"},
      {R"({"name": "x", "shape": [2, 0]})", "shape: 0 is not a size of 1 or more"},
      {R"({"name": "x", "shape": [1000000, 1000000]})", "shape: more than 268435456 values"},
      {R"({"name": "x", "maxLength": 0})", "max_length: 0 is not from 1 to 268435456"},
      {R"({"name": "x", "maxLength": 2, "shape": [2]})",
       "max_length: conflicts with \"shape\"; keep one of them"},
      {R"({"name": "x", "maxLength": 2, "default": 0})",
       "default: conflicts with \"max_length\": a missing list is all padding"},
      {R"({"name": "x", "padding": 2})", "padding: has no meaning without \"max_length\""},
      {R"({"name": "x", "dtype": "uint8"})",
       "dtype: \"uint8\" is not one of int64, float32; for the elements of a raw tensor set "
       "\"decode\": \"raw\""},
      {R"({"name": "x", "dtype": "string"})", "dtype: \"string\" is not one of int64, float32"},
      {R"({"name": "x", "decode": "gif"})", "decode: \"gif\" is not one of raw, tensor, image"},
      {R"({"name": "x", "decode": "image", "dtype": "uint8"})",
       "dtype: conflicts with \"decode\": \"image\"; leave it out"},
      {R"({"name": "x", "decode": "image", "shape": [3]})",
       "shape: (3,); images have a height, a width (each at most 65536) and 1, 3 or 4 channels"},
      {R"({"name": "x", "decode": "raw"})",
       "dtype: is missing; say one of bool, uint8, int8, uint16, int16, uint32, int32, uint64, "
       "int64, float32, float64"},
      {R"({"name": "x", "decode": "tensor"})",
       "dtype: is missing; say one of bool, uint8, int8, uint16, int16, uint32, int32, uint64, "
       "int64, float32, float64"},
      {R"({"name": "x", "decode": "raw", "dtype": "uint8", "maxLength": 2})",
       "max_length: conflicts with \"decode\"; set \"shape\""},
      {R"({"name": "x", "decode": "raw", "dtype": "uint8", "vocabulary": ["a"]})",
       "vocabulary: conflicts with \"decode\"; keep one of them"},
      {R"({"name": "x", "vocabulary": ["a", "a"]})",
       "vocabulary: \"a\" appears twice; keep one of them"},
      {R"({"name": "x", "unknown": true})",
       "unknown: has no meaning without \"vocabulary\" or \"categorical\": true"},
      {R"({"name": "x", "vocabulary": ["a"], "dtype": "int64"})",
       "dtype: conflicts with \"vocabulary\", which is for bytes"},
      {R"({"name": "x", "default": "NaN"})", "default: nan is not a finite number"},
      {R"({"name": "x", "maxLength": 2, "padding": "Infinity"})",
       "padding: inf is not a finite number"},
      {R"({"name": "x", "output": "o"})", "output: is only for labels"},
  };
  for (const auto& one : cases) {
    EXPECT_EQ(CheckFeature(one.feature), std::string("t.features[0].") + one.message);
  }
  EXPECT_EQ(Check(R"({"features": [{"name": "x"}], "labels": [{"name": "y", "input": "i"}]})"),
            "t.labels[0].input: is only for features");
  EXPECT_EQ(Check(R"({"features": [{"name": "x"}],
                      "labels": [{"name": "y", "vocabulary": ["a"], "unknown": true}]})"),
            "t.labels[0].unknown: is only for features");
}

TEST(TfrecordFormatTest, FeaturesBelongToTheModelsInputs) {
  const auto model = nn::testing::ModelOf(
      {{"in", "InputLayer", R"({"batch_shape": [null, 2]})"}, {"out", "Dense", R"({"units": 3})"}});
  const auto check = [&](const std::string& json) {
    return std::string(TfrecordFormat().check_model("t", SourceOf(json), *model).message());
  };
  EXPECT_EQ(check(R"({"features": [{"name": "x"}], "labels": [{"name": "y"}]})"), "");
  EXPECT_EQ(check(R"({"features": [{"name": "x", "input": "n"}], "labels": [{"name": "y"}]})"),
            "t.features[0].input: the model has no input \"n\"; it has in");
}

TEST(TfrecordFormatTest, ValidationHasTheFeaturesOfTraining) {
  const auto train = SourceOf(R"({"features": [{"name": "x"}], "labels": [{"name": "y"}]})");
  proto::DataSource validation;
  TfrecordFormat().inherit(train, &validation);
  EXPECT_EQ(validation.tfrecord().features(0).name(), "x");
  EXPECT_EQ(validation.tfrecord().labels(0).name(), "y");
}

}  // namespace
}  // namespace cairn::job

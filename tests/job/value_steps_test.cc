#include "job/value_steps.h"

#include <google/protobuf/util/json_util.h>

#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "job/data_pipeline.h"
#include "job/data_source.h"
#include "tests/nn/test_model.h"

namespace cairn::job {
namespace {

proto::DataSource SourceOf(const std::string& steps, const std::string& fields = "") {
  proto::DataSource source;
  const std::string json =
      R"({"npy": {"features": ["x"], "labels": ["y"]}, "pipeline": [)" + steps + "]" + fields + "}";
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &source).ok()) << json;
  return source;
}

std::unique_ptr<nn::Model> ModelOf(const std::string& shape) {
  return nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": )" + shape + "}"},
                               {"flat", "Flatten", "{}"},
                               {"out", "Dense", R"({"units": 1})"}});
}

TEST(ValueStepsTest, EveryMistakeIsNamedWithItsPath) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"cast": "int128"})",
       R"(cast: "int128" is not one of bool, uint8, int8, uint16, int16, uint32, int32, int64, )"
       "float32 (did you mean int8?)"},
      {R"({"normalize": {"mean": [1]}})",
       "normalize.deviation: is missing; give both, or neither for those of the training data"},
      {R"({"normalize": {"mean": [1], "deviation": [0]}})",
       "normalize.deviation: 0 is not above 0"},
      {R"({"normalize": {"mean": [1, 2], "deviation": [1, 2, 3]}})",
       "normalize.deviation: has 3 numbers, \"mean\" has 2"},
      {R"({"oneHot": "0"})", "one_hot: 0 is not from 1 to 268435456"},
      {R"({"hash": {}})", "hash.num_bins: is missing; it is the number of different results"},
      {R"({"hash": {"numBins": 0}})", "hash.num_bins: 0 is not from 1 to 2147483647"},
      {R"({"hash": {"numBins": 9, "salt": [1, 2, 3]}})", "hash.salt: has 3 numbers, at most 2"},
      {R"({"hash": {"numBins": 9, "maskValueWord": "a"}})",
       "hash.mask_value: \"a\" is a text, and the values are numbers"},
      {R"({"vocabulary": {}})",
       "vocabulary.numbers: is missing; list the numbers in the order of their ids. Names have a "
       "\"vocabulary\" in the description of their column"},
      {R"({"vocabulary": {"numbers": [4, 4]}})",
       "vocabulary.numbers: 4 appears twice; keep one of them"},
      {R"({"pad": {"value": 1}})", "pad.length: is missing; it is the length of each example"},
      {R"({"pad": {"length": 2, "value": 1e300}})", "pad.value: 1e+300 does not fit into float32"},
      {R"({"pad": {"length": 0}})", "pad.length: 0 is not from 1 to 268435456"},
      {R"({"resize": {}})", "resize.size: is missing; say height and width: [224, 224]"},
      {R"({"resize": {"size": [9, 0]}})", "resize.size: 0 is not from 1 to 65536"},
      {R"({"resize": {"size": [9], "interpolation": "cubic"}})",
       "resize.interpolation: \"cubic\" is not one of bilinear, nearest, bicubic, area, "
       "lanczos3, lanczos5, gaussian, mitchellcubic"},
      {R"({"resize": {"size": [9], "cropToAspectRatio": true, "padToAspectRatio": true}})",
       "resize.pad_to_aspect_ratio: conflicts with \"crop_to_aspect_ratio\"; keep one of them"},
      {R"({"crop": {"size": [1, 2, 3]}})",
       "crop.size: has 3 numbers; say height and width: [224, 224]"},
      {R"({"flip": "left"})",
       "flip: \"left\" is not one of horizontal, vertical, horizontal_and_vertical"},
  };
  for (const auto& [steps, message] : cases) {
    const proto::DataSource source = SourceOf(steps);
    EXPECT_EQ(std::string(CheckPipeline("train", source, FormatOf(source)).message()),
              "train.pipeline[0]." + message);
  }
}

TEST(ValueStepsTest, StepsHaveTheirPlace) {
  const auto error_of = [](const std::string& steps, const std::string& fields = "") {
    const proto::DataSource source = SourceOf(steps, fields);
    return std::string(CheckPipeline("train", source, FormatOf(source)).message());
  };
  EXPECT_EQ(
      error_of(R"({"cast": "int32"}, {"window": {"size": 2}})"),
      R"(train.pipeline[1].window: stands after "cast"; values are changed after the window)");
  EXPECT_EQ(error_of(R"({"flip": "vertical"}, {"cache": {}})"),
            R"(train.pipeline[1].cache: stands after "flip", whose random draws differ from epoch )"
            "to epoch; put it before");
  EXPECT_EQ(error_of(R"({"take": 5, "input": "a"})"),
            R"(train.pipeline[0].input: has no meaning for "take", which is about whole examples)");
  EXPECT_EQ(error_of(R"({"cache": {}}, {"take": 5}, {"cast": "bool"}, {"skip": 1})"), "");
  EXPECT_EQ(error_of(R"({"cast": "bool"})", R"(, "skipDamaged": 3)"), "");
}

TEST(ValueStepsTest, StepsNameInputsOfTheModel) {
  const auto one = ModelOf("[null, 4]");
  const auto error_of = [&](const std::string& steps, const std::string& fields = "") {
    return std::string(CheckPipelineFitsModel("train", SourceOf(steps, fields), *one).message());
  };
  EXPECT_EQ(error_of(R"({"oneHot": "4", "input": "im"})"),
            R"(train.pipeline[0].input: "im" is not one of in (did you mean in?))");
  EXPECT_EQ(error_of(R"({"oneHot": "4", "input": "in"})"), "");
  EXPECT_EQ(error_of(R"({"normalize": {}}, {"normalize": {}})"),
            "train.pipeline: normalizes the input 'in' by the training data twice; keep one "
            "\"normalize\", or \"standardize\"");
  EXPECT_EQ(error_of(R"({"normalize": {}})", R"(, "standardize": true)"),
            "train.pipeline: normalizes the input 'in' by the training data twice; keep one "
            "\"normalize\", or \"standardize\"");
  EXPECT_EQ(error_of(R"({"hash": {"numBins": 4}})", R"(, "scale": 0.5)"),
            "train.scale: makes fractions of the whole numbers that the pipeline takes; leave it "
            "out");
  const auto whole =
      nn::testing::ModelOf({{"in", "InputLayer", R"({"batch_shape": [null, 4], "dtype": "int32"})"},
                            {"ids", "Embedding", R"({"input_dim": 4, "output_dim": 1})"}});
  EXPECT_TRUE(CheckPipelineFitsModel(
                  "train", SourceOf(R"({"hash": {"numBins": 4}})", R"(, "scale": 0.5)"), *whole)
                  .ok());
  const auto two = nn::testing::ModelOf(
      {{"a", "InputLayer", R"({"batch_shape": [null, 4]})"}, {"out", "Dense", R"({"units": 1})"}});
  EXPECT_EQ(ValueStepsOf(SourceOf(R"({"oneHot": "4", "input": "b"}, {"take": 2})"), *two, 0).size(),
            0u);
}

TEST(ValueStepsTest, ShapesAreThoseOfKerasAndTensorFlow) {
  const auto after = [](const std::string& step, nn::Shape shape, int leading = 0) {
    const auto result = ShapeAfter(SourceOf(step).pipeline(0), std::move(shape), leading);
    return result.ok() ? nn::ShapeText(*result) : std::string(result.status().message());
  };
  EXPECT_EQ(after(R"({"oneHot": "5"})", {}), "(5,)");
  EXPECT_EQ(after(R"({"oneHot": "5"})", {1}), "(5,)");
  EXPECT_EQ(after(R"({"oneHot": "5"})", {3}), "(3, 5)");
  EXPECT_EQ(after(R"({"pad": {"length": 4}})", {6, 2}), "(4, 2)");
  EXPECT_EQ(after(R"({"pad": {"length": 4}})", {9, 6}, 1), "(9, 4)");
  EXPECT_EQ(after(R"({"pad": {"length": 4}})", {}),
            "is for lists, the examples are single numbers");
  EXPECT_EQ(after(R"({"resize": {"size": [4, 5]}})", {9, 9, 3}), "(4, 5, 3)");
  EXPECT_EQ(after(R"({"resize": {"size": [4]}})", {2, 9, 9}, 1), "(2, 4, 4)");
  EXPECT_EQ(after(R"({"crop": {"size": [4]}})", {9, 8}), "(4, 4)");
  EXPECT_EQ(after(R"({"crop": {"size": [10, 4]}})", {9, 8}),
            "takes 10 x 4 of images of 9 x 8; resize them before");
  EXPECT_EQ(
      after(R"({"flip": "vertical"})", {9}),
      "is for images of shape (height, width) or (height, width, channels), the examples have "
      "the shape (9,)");
  EXPECT_EQ(after(R"({"normalize": {"mean": [1, 2], "deviation": [1]}})", {4, 3}),
            "has 2 numbers, the last axis of the examples, of shape (4, 3), has 3");
  EXPECT_EQ(after(R"({"resize": {"size": [65536]}})", {9, 9}),
            "makes more than 268435456 values of an example");
}

TEST(ValueStepsTest, RowsHaveAKnownShapeUnlessAStepChangesIt) {
  const auto model = ModelOf("[null, 3, 2]");
  EXPECT_EQ(RowShape(SourceOf(R"({"take": 3})"), *model, 0), (nn::Shape{3, 2}));
  EXPECT_EQ(RowShape(SourceOf(R"({"window": {"size": 3}}, {"cast": "bool"})"), *model, 0),
            (nn::Shape{2}));
  EXPECT_EQ(RowShape(SourceOf(R"({"oneHot": "2"})"), *model, 0), std::nullopt);
  EXPECT_EQ(RowType(SourceOf(R"({"oneHot": "2"})"), *model, 0), proto::INT32);
  EXPECT_EQ(RowType(SourceOf(R"({"cast": "int32"}, {"oneHot": "2"})"), *model, 0), proto::FLOAT32);
}

TEST(ValueStepsTest, ImagesAreDecodedToTheSizeBeforeTheSteps) {
  const auto model = ModelOf("[null, 8, 6, 3]");
  const auto size_of = [&](const std::string& images, const std::string& steps) {
    proto::DataSource source = SourceOf(steps);
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(R"({"directory": ["d"])" + images + "}",
                                                            source.mutable_images())
                    .ok());
    const auto size = DecodedSizeOf(source, *model);
    return size.ok() ? std::pair(size->height, size->width) : std::pair<int64_t, int64_t>(0, 0);
  };
  EXPECT_EQ(size_of("", R"({"flip": "vertical"})"), std::pair(int64_t{8}, int64_t{6}));
  EXPECT_EQ(size_of(R"(, "imageSize": [20])", R"({"crop": {"size": [8, 6]}})"),
            std::pair(int64_t{20}, int64_t{20}));
  EXPECT_EQ(size_of("", R"({"resize": {"size": [20, 30]}}, {"crop": {"size": [8, 6]}})"),
            std::pair(int64_t{20}, int64_t{30}));
  EXPECT_EQ(size_of("", R"({"crop": {"size": [8, 6]}})"), std::pair(int64_t{0}, int64_t{0}));
}

}  // namespace
}  // namespace cairn::job

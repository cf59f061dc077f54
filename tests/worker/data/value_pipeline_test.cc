#include "worker/data/value_pipeline.h"

#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/nn/test_model.h"
#include "worker/data/files/file_bytes.h"

namespace cairn::worker {
namespace {

using Numbers = std::vector<float>;

// A source of one input, whose rows have these values and this shape.
template <typename T>
struct Example {
  std::vector<T> values;
  nn::Shape shape;
  ElementType type;
  const char* input_type = "float32";

  Array array() const {
    std::string bytes(values.size() * sizeof(T), '\0');
    std::memcpy(bytes.data(), values.data(), bytes.size());
    Array::Layout layout;
    layout.type = type;
    layout.row_shape = shape;
    return Array(FileBytes::InMemory("x", std::move(bytes)), 1, layout);
  }

  std::unique_ptr<nn::Model> model() const {
    const bool is_whole = std::string(input_type) == "int32";
    return nn::testing::ModelOf(
        {{"in", "InputLayer",
          std::string(R"({"batch_shape": [null, 4], "dtype": ")") + input_type + "\"}"},
         {"ids", is_whole ? "Embedding" : "Flatten",
          is_whole ? R"({"input_dim": 9, "output_dim": 1})" : "{}"},
         {"out", "Flatten", "{}"}});
  }

  absl::StatusOr<ValuePipeline> Create(const std::string& steps, const std::string& fields = "",
                                       const proto::DataPlan& plan = {}) const {
    proto::DataSource source;
    const std::string json = R"({"pipeline": [)" + steps + "]" + fields + "}";
    EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &source).ok()) << json;
    return ValuePipeline::Create(source, plan, *model(), 0, array());
  }

  // The values after the steps, or the error.
  std::pair<Numbers, std::string> Run(const std::string& steps, std::optional<uint64_t> key = {},
                                      const std::string& fields = "",
                                      const proto::DataPlan& plan = {}) const {
    const auto pipeline = Create(steps, fields, plan);
    if (!pipeline.ok()) return {{}, std::string(pipeline.status().message())};
    const Array rows = array();
    std::string scratch;
    const bool is_whole = std::string(input_type) == "int32";
    std::vector<int32_t> bits(nn::ElementCount(pipeline->shape()));
    const absl::Status status = pipeline->Apply(
        rows, *rows.Row(0, &scratch), key, is_whole ? proto::INT32 : proto::FLOAT32, bits.data());
    Numbers numbers(bits.begin(), bits.end());
    if (!is_whole) std::memcpy(numbers.data(), bits.data(), bits.size() * sizeof(float));
    return {status.ok() ? numbers : Numbers(), std::string(status.message())};
  }
};

Example<float> Floats(std::vector<float> values, nn::Shape shape) {
  return {std::move(values), std::move(shape), ElementType::kFloat32};
}

Example<int64_t> Ids(std::vector<int64_t> values) {
  const nn::Shape shape = {static_cast<int64_t>(values.size())};
  return {std::move(values), shape, ElementType::kInt64};
}

TEST(ValuePipelineTest, CastsTruncateAndKeepTheRangeOfTheirType) {
  const auto example = Floats({-1.75, 2.5, 0}, {3});
  EXPECT_EQ(example.Run(R"({"cast": "int32"})").first, (Numbers{-1, 2, 0}));
  EXPECT_EQ(example.Run(R"({"cast": "bool"})").first, (Numbers{1, 1, 0}));
  EXPECT_EQ(example.Run(R"({"cast": "float32"})").first, (Numbers{-1.75, 2.5, 0}));
  EXPECT_EQ(example.Run(R"({"cast": "uint8"})").second,
            "pipeline step \"cast\": the value -1 does not fit into uint8");
  EXPECT_EQ(Floats({NAN}, {1}).Run(R"({"cast": "int64"})").second,
            "pipeline step \"cast\": the value nan does not fit into int64");
  Example<uint64_t> large = {{uint64_t{1} << 63}, {1}, ElementType::kUint64};
  EXPECT_EQ(large.Run(R"({"cast": "int64"})").second,
            "the value 9223372036854775808 does not fit into int64");
}

TEST(ValuePipelineTest, WholeNumbersBeyondFloatsStayExact) {
  const auto example = Ids({(int64_t{1} << 53) + 1, -3, int64_t{1} << 53});
  const std::string numbers = R"({"vocabulary": {"numbers": [9007199254740993, "-3"])";
  EXPECT_EQ(example.Run(numbers + R"(, "unknown": true}})").first, (Numbers{0, 1, 2}));
  EXPECT_EQ(example.Run(numbers + "}}").second,
            "pipeline step \"vocabulary\": the value 9007199254740992 is none of its numbers; add "
            "it, or set \"unknown\": true");
  // As keras.layers.Hashing(1000).
  EXPECT_EQ(
      Ids({0, -5, 7, 123456789012, int64_t{1} << 62}).Run(R"({"hash": {"numBins": 1000}})").first,
      (Numbers{735, 816, 88, 427, 503}));
}

TEST(ValuePipelineTest, IdsThatFloatsRoundAreRefused) {
  const std::string wrong =
      " is a float32, which cannot tell ids of 2^24 and more apart; store ids as integers, and "
      "leave out a \"cast\" before";
  const std::string numbers = R"({"vocabulary": {"numbers": [16777215, 16777216, 16777217]}})";
  const auto floats = Floats({16777215, 16777216}, {2});
  EXPECT_EQ(floats.Run(numbers).second, "pipeline step \"vocabulary\": the value 16777216" + wrong);
  EXPECT_EQ(floats.Run(R"({"cast": "int64"}, {"pad": {"length": 2}}, )" + numbers).second,
            "pipeline step \"cast\": the value 16777216" + wrong);
  EXPECT_EQ(floats.Run(R"({"cast": "int64"})").first, (Numbers{16777215, 16777216}));
  EXPECT_EQ(Floats({-16777215}, {1}).Run(R"({"cast": "int64"}, {"hash": {"numBins": 1}})").first,
            (Numbers{0}));
  // An integer that a step makes float32.
  const auto ids = Ids({16777217});
  EXPECT_EQ(ids.Run(R"({"cast": "float32"}, )" + numbers).second,
            "pipeline step \"vocabulary\": the value 16777216" + wrong);
  EXPECT_EQ(ids.Run(R"({"cast": "int32"}, )" + numbers).first, (Numbers{2}));
  Example<float> input = Floats({16777216}, {1});
  input.input_type = "int32";
  EXPECT_EQ(input.Run(R"({"pad": {"length": 1}})").second, "the value 16777216" + wrong);
  EXPECT_EQ(input.Run(R"({"cast": "int32"})").second,
            "pipeline step \"cast\": the value 16777216" + wrong);
}

TEST(ValuePipelineTest, WholeNumbersOfFloat64StayExact) {
  Example<double> example = {{16777215, 16777216, 16777217}, {3}, ElementType::kFloat64};
  const std::string numbers = R"({"vocabulary": {"numbers": [16777217, 16777216, 16777215]}})";
  EXPECT_EQ(example.Run(numbers).first, (Numbers{2, 1, 0}));
  EXPECT_EQ(example.Run(R"({"cast": "int64"}, )" + numbers).first, (Numbers{2, 1, 0}));
  // Fractions are cast as float32.
  example.values = {-1.75, 2.5, 0};
  EXPECT_EQ(example.Run(R"({"cast": "int32"})").first, (Numbers{-1, 2, 0}));
  example.values = {0x1p53, 0, 1};
  EXPECT_EQ(example.Run(R"({"hash": {"numBins": 9}})").second,
            "pipeline step \"hash\": the value 9007199254740992 is a float32, which cannot tell "
            "ids of 2^24 and more apart; store ids as integers, and leave out a \"cast\" before");
}

TEST(ValuePipelineTest, ClassNumbersBecomeVectors) {
  EXPECT_EQ(Ids({2, 0}).Run(R"({"oneHot": "3"})").first, (Numbers{0, 0, 1, 1, 0, 0}));
  EXPECT_EQ(Floats({1}, {}).Run(R"({"oneHot": "2"})").first, (Numbers{0, 1}));
  EXPECT_EQ(Ids({3}).Run(R"({"oneHot": "3"})").second,
            "pipeline step \"one_hot\": the value 3 is not from 0 to 2");
  EXPECT_EQ(Floats({0.5}, {1}).Run(R"({"oneHot": "3"})").second,
            "pipeline step \"one_hot\": the value 0.5 is not a whole number");
}

TEST(ValuePipelineTest, NormalizesByGivenNumbersOrByThePlan) {
  const auto example = Floats({1, 10, 3, 30}, {2, 2});
  EXPECT_EQ(example.Run(R"({"normalize": {"mean": [1], "deviation": [2]}})").first,
            (Numbers{0, 4.5, 1, 14.5}));
  EXPECT_EQ(example.Run(R"({"normalize": {"mean": [1, 10], "deviation": [2, 4]}})").first,
            (Numbers{0, 0, 1, 5}));
  proto::DataPlan plan;
  plan.add_inputs()->add_mean(2);
  plan.mutable_inputs(0)->add_mean(20);
  plan.mutable_inputs(0)->add_deviation(0.5);
  plan.mutable_inputs(0)->add_deviation(0);
  const auto result = example.Run(R"({"normalize": {}})", {}, R"(, "scale": 2)", plan);
  EXPECT_EQ(result.first, (Numbers{0, 0, 8, 4e8}));
  plan.mutable_inputs(0)->Clear();
  EXPECT_EQ(example.Run(R"({"normalize": {}})", {}, "", plan).second,
            "pipeline step \"normalize\" has no numbers, and the training data are not normalized "
            "by their statistics at the input 'in'; give \"mean\" and \"deviation\", or set it in "
            "\"train\", too");
  const auto pipeline = example.Create(R"({"pad": {"length": 1}}, {"normalize": {}},
                                           {"pad": {"length": 7}})");
  ASSERT_TRUE(pipeline.ok() && pipeline->is_measured());
  EXPECT_EQ(pipeline->measured_shape(), (nn::Shape{1, 2}));
  Numbers measured(2);
  std::string scratch;
  const Array rows = example.array();
  EXPECT_TRUE(pipeline->ApplyToMeasure(rows, *rows.Row(0, &scratch), measured.data()).ok());
  EXPECT_EQ(measured, (Numbers{1, 10}));
}

TEST(ValuePipelineTest, ListsArePaddedAndCutAtTheirEnd) {
  const auto example = Floats({1, 2, 3, 4}, {2, 2});
  EXPECT_EQ(example.Run(R"({"pad": {"length": 3, "value": 0.5}})").first,
            (Numbers{1, 2, 3, 4, 0.5, 0.5}));
  EXPECT_EQ(example.Run(R"({"pad": {"length": 1}})").first, (Numbers{1, 2}));
  // 2^64 is not an int64.
  EXPECT_EQ(Ids({7}).Run(R"({"pad": {"length": 2, "value": 18446744073709551616}})").first,
            (Numbers{7, 0x1p64f}));
  // The first axis of a window is its rows.
  EXPECT_EQ(example.Run(R"({"window": {"size": 2}}, {"pad": {"length": 3}})").first,
            (Numbers{1, 2, 0, 3, 4, 0}));
}

TEST(ValuePipelineTest, WithoutAKeyCropsTakeTheMiddleAndFlipsDoNothing) {
  const auto image = Floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {4, 4});
  const std::string steps = R"({"crop": {"size": [2, 1], "random": true}}, {"flip": "vertical"})";
  EXPECT_EQ(image.Run(steps).first, (Numbers{5, 9}));
}

TEST(ValuePipelineTest, DrawsAreFunctionsOfTheKeyAndReachEveryPlace) {
  const auto image = Floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 2, 3});
  std::set<Numbers> flips;
  std::set<float> places;
  int mirrored = 0;
  for (uint64_t key = 0; key < 400; ++key) {
    const Numbers flipped = image.Run(R"({"flip": "horizontal_and_vertical"})", key).first;
    EXPECT_EQ(image.Run(R"({"flip": "horizontal_and_vertical"})", key).first, flipped);
    flips.insert(flipped);
    places.insert(image.Run(R"({"crop": {"size": [1], "random": true}})", key).first[0]);
    mirrored += image.Run(R"({"flip": "horizontal"})", key).first[0] == 3 ? 1 : 0;
  }
  EXPECT_EQ(flips, (std::set<Numbers>{{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
                                      {3, 4, 5, 0, 1, 2, 9, 10, 11, 6, 7, 8},
                                      {6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5},
                                      {9, 10, 11, 6, 7, 8, 3, 4, 5, 0, 1, 2}}));
  EXPECT_EQ(places, (std::set<float>{0, 3, 6, 9}));
  // Half of 400, within four standard deviations.
  EXPECT_NEAR(mirrored, 200, 40);
}

TEST(ValuePipelineTest, WholeInputsTakeWholeNumbersOf32Bits) {
  Example<float> example = Floats({1.5, 3e9}, {2});
  example.input_type = "int32";
  EXPECT_EQ(example.Run(R"({"normalize": {"mean": [0], "deviation": [0.5]}})").second,
            "the value 6000000000 does not fit into int32");
  example.values = {1.5, 2};
  EXPECT_EQ(example.Run(R"({"normalize": {"mean": [0], "deviation": [0.5]}})").first,
            (Numbers{3, 4}));
  EXPECT_EQ(example.Run(R"({"normalize": {"mean": [0], "deviation": [1]}})").second,
            "the value 1.5 is not a whole number");
}

TEST(ValuePipelineTest, WholeInputsAreNotScaled) {
  Example<int64_t> example = Ids({3, 4});
  EXPECT_EQ(example.Run(R"({"pad": {"length": 3}})", {}, R"(, "scale": 2)").first,
            (Numbers{6, 8, 0}));
  example.input_type = "int32";
  EXPECT_EQ(example.Run(R"({"pad": {"length": 3}})", {}, R"(, "scale": 2)").first,
            (Numbers{3, 4, 0}));
}

TEST(ValuePipelineTest, StepsMayFailIfTheirResultMayBeInvalid) {
  const auto may_fail = [](const auto& example, const std::string& steps,
                           const std::string& fields = "") {
    return example.Create(steps, fields)->may_fail();
  };
  const std::string plain = R"({"normalize": {"mean": [1], "deviation": [2]}})";
  const std::string tiny = R"({"normalize": {"mean": [1], "deviation": [1e-45]}})";
  const auto floats = Floats({1, 2}, {2});
  EXPECT_FALSE(may_fail(floats, R"({"pad": {"length": 3}})"));
  EXPECT_TRUE(may_fail(floats, plain));
  EXPECT_TRUE(may_fail(floats, R"({"normalize": {}})"));
  // The values of images and of integers have bounds.
  EXPECT_FALSE(may_fail(floats, plain, R"(, "images": {})"));
  EXPECT_FALSE(may_fail(floats, R"({"normalize": {}})", R"(, "images": {})"));
  EXPECT_TRUE(may_fail(floats, tiny, R"(, "images": {})"));
  EXPECT_TRUE(may_fail(floats, plain, R"(, "images": {}, "scale": 1e38)"));
  Example<int64_t> whole = Ids({1, 2});
  EXPECT_FALSE(may_fail(whole, plain));
  whole.input_type = "int32";
  EXPECT_TRUE(may_fail(whole, plain));
}

// What was measured tells whether normalized values fit.
TEST(ValuePipelineTest, MeasuredStepsThatCannotFailAreNotCheckedAgain) {
  proto::DataPlan::Standardization statistics;
  statistics.add_mean(-3);
  statistics.add_deviation(0.5);
  const auto may_fail = [&](const std::string& steps, std::optional<double> largest) {
    return Floats({1, 2}, {2}).Create(steps)->WithStatistics(statistics, largest).may_fail();
  };
  const std::string normalize = R"({"normalize": {}})";
  EXPECT_TRUE(may_fail(normalize, {}));
  EXPECT_FALSE(may_fail(normalize, 1e3));
  EXPECT_FALSE(may_fail(normalize, 8e37));
  EXPECT_TRUE(may_fail(normalize, 1e38));
  EXPECT_TRUE(may_fail(normalize, std::numeric_limits<double>::infinity()));
  const std::string tiny = R"({"normalize": {"mean": [0], "deviation": [1e-37]}})";
  EXPECT_FALSE(may_fail(normalize + ", " + tiny, 1));
  EXPECT_TRUE(may_fail(normalize + ", " + tiny, 1e3));
  EXPECT_TRUE(may_fail(normalize + R"(, {"cast": "uint8"})", 1));
  Example<float> whole = Floats({1, 2}, {2});
  whole.input_type = "int32";
  EXPECT_TRUE(whole.Create(normalize)->WithStatistics(statistics, 1.0).may_fail());
  // The step before has accepted all values.
  EXPECT_FALSE(may_fail(R"({"cast": "uint8"}, )" + normalize, 255));
}

TEST(ValuePipelineTest, AStepForOtherExamplesIsNamed) {
  EXPECT_EQ(Ids({1, 2}).Run(R"({"flip": "horizontal"})").second,
            "pipeline step \"flip\" is for images of shape (height, width) or (height, width, "
            "channels), the examples have the shape (2,)");
}

}  // namespace
}  // namespace cairn::worker

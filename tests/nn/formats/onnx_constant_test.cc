#include "nn/formats/onnx_constant.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

onnx::TensorProto TensorOf(const std::string& text) {
  onnx::TensorProto tensor;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &tensor));
  return tensor;
}

absl::StatusOr<OnnxConstant> Read(const std::string& text) {
  OnnxBudget budget(1000);
  return ReadOnnxTensor(TensorOf(text), &budget);
}

OnnxConstant Integers(const Shape& shape, const std::vector<int64_t>& values) {
  return {.shape = shape, .is_float = false, .integers = values};
}

absl::StatusOr<OnnxConstant> Fold(const std::string& node, const std::vector<OnnxConstant>& inputs,
                                  int64_t limit = 1000) {
  onnx::NodeProto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(node, &proto));
  std::vector<const OnnxConstant*> pointers;
  for (const OnnxConstant& input : inputs) pointers.push_back(&input);
  OnnxBudget budget(limit);
  return FoldOnnx(OnnxNode(&proto, 17), pointers, &budget);
}

TEST(OnnxConstantTest, NumbersAreRawOrInTheListOfTheirType) {
  EXPECT_THAT(Read(R"(data_type: FLOAT dims: 1 raw_data: "\000\000\200\077")")->floats,
              ElementsAre(1));
  EXPECT_THAT(Read("data_type: FLOAT dims: 2 float_data: [1, 2]")->floats, ElementsAre(1, 2));
  EXPECT_THAT(Read("data_type: DOUBLE dims: 1 double_data: 0.5")->floats, ElementsAre(0.5f));
  EXPECT_THAT(Read("data_type: FLOAT16 dims: 1 int32_data: 15360")->floats, ElementsAre(1));
  EXPECT_THAT(Read(R"(data_type: BFLOAT16 dims: 1 raw_data: "\200\077")")->floats, ElementsAre(1));
  EXPECT_THAT(Read("data_type: INT64 dims: 1 int64_data: -3")->integers, ElementsAre(-3));
  EXPECT_THAT(Read(R"(data_type: INT32 dims: 1 raw_data: "\377\377\377\377")")->integers,
              ElementsAre(-1));
  EXPECT_THAT(Read("data_type: BOOL dims: 1 int32_data: 1")->integers, ElementsAre(1));
}

TEST(OnnxConstantTest, RefusesWhatIsNotInTheFile) {
  EXPECT_THAT(std::string(Read("name: 'w' data_type: FLOAT dims: 2 data_location: EXTERNAL "
                               "external_data: 'x'")
                              .status()
                              .message()),
              HasSubstr("tensor 'w' is in another file (external data)"));
  EXPECT_THAT(std::string(Read("name: 'w' data_type: FLOAT dims: 1000000 dims: 1000000 dims: "
                               "1000000 float_data: 1")
                              .status()
                              .message()),
              HasSubstr("tensor 'w' has 1 elements, which do not fill its shape"));
  EXPECT_THAT(std::string(Read("name: 'w' data_type: STRING dims: 1").status().message()),
              HasSubstr("has the data type 8"));
  EXPECT_FALSE(Read("data_type: FLOAT dims: -1 float_data: 1").ok());
}

TEST(OnnxConstantTest, ComputesSizes) {
  const OnnxConstant shape = Integers({3}, {kOnnxBatch, 4, 6});
  const auto first = Fold("op_type: 'Gather'", {shape, Integers({}, {0})});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(first->integers, ElementsAre(kOnnxBatch));
  EXPECT_TRUE(first->shape.empty());
  const auto rows = Fold("op_type: 'Mul'", {*first, Integers({1}, {4})});
  EXPECT_THAT(rows->integers, ElementsAre(4 * kOnnxBatch));
  EXPECT_THAT(Fold("op_type: 'Concat' attribute { name: 'axis' type: INT i: 0 }",
                   {*rows, Integers({1}, {-1})})
                  ->integers,
              ElementsAre(4 * kOnnxBatch, -1));
  EXPECT_THAT(Fold("op_type: 'Slice'", {shape, Integers({1}, {-2}), Integers({1}, {9})})->integers,
              ElementsAre(4, 6));
  EXPECT_THAT(Fold("op_type: 'Slice'", {shape, Integers({1}, {-1}), Integers({1}, {-9}),
                                        Integers({1}, {0}), Integers({1}, {-1})})
                  ->integers,
              ElementsAre(6, 4, kOnnxBatch));
  EXPECT_FALSE(Fold("op_type: 'Gather'", {shape, Integers({}, {3})}).ok());
  EXPECT_FALSE(Fold("op_type: 'Div'", {shape, Integers({}, {0})}).ok());
}

// Zero states of recurrent layers are made for each batch.
TEST(OnnxConstantTest, ATensorOfTheBatchHasOneElement) {
  const auto zeros = Fold("op_type: 'ConstantOfShape'", {Integers({2}, {1, kOnnxBatch})});
  ASSERT_TRUE(zeros.ok()) << zeros.status();
  EXPECT_TRUE(zeros->is_uniform && zeros->is_zero() && zeros->is_float);
  EXPECT_THAT(Fold("op_type: 'Unsqueeze'", {*zeros, Integers({1}, {0})})->shape,
              ElementsAre(1, 1, kOnnxBatch));
  EXPECT_TRUE(
      Fold("op_type: 'Expand'", {Integers({}, {0}), Integers({1}, {kOnnxBatch})})->is_uniform);
}

TEST(OnnxConstantTest, AKernelMayBeTransposed) {
  OnnxBudget budget(100);
  const OnnxConstant kernel = {.name = "w", .shape = {2, 3}, .floats = {1, 2, 3, 4, 5, 6}};
  const auto moved = TransposedConstant(kernel, {1, 0}, &budget);
  EXPECT_THAT(moved->floats, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(moved->shape, ElementsAre(3, 2));
  EXPECT_EQ(moved->name, "w");
  EXPECT_FALSE(TransposedConstant(kernel, {1, 1}, &budget).ok());
  EXPECT_FALSE(TransposedConstant(kernel, {0}, &budget).ok());
}

TEST(OnnxConstantTest, TheWorkIsLimited) {
  const OnnxConstant one = Integers({1}, {7});
  EXPECT_THAT(
      std::string(
          Fold("name: 'n' op_type: 'Expand'", {one, Integers({1}, {1000000})}).status().message()),
      HasSubstr("node 'n' (Expand): the file's constants are combined into far more"));
  EXPECT_FALSE(Fold("op_type: 'Expand'", {one, Integers({2}, {int64_t{1} << 39, 1 << 20})}).ok());
  EXPECT_FALSE(Fold("op_type: 'Reshape'", {one, Integers({1}, {0})}).ok() &&
               Fold("op_type: 'Reshape'", {one, Integers({1}, {5})}).ok());
}

}  // namespace
}  // namespace cairn::nn

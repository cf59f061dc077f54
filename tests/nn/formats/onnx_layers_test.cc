#include "nn/formats/onnx_layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/model.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class OnnxLayersTest : public ::testing::Test {
 protected:
  int Input(const Shape& shape) {
    google::protobuf::Value batch_shape;
    batch_shape.mutable_list_value()->add_values()->set_null_value(google::protobuf::NULL_VALUE);
    for (const int64_t size : shape) {
      batch_shape.mutable_list_value()->add_values()->set_number_value(static_cast<double>(size));
    }
    return layers_.Add("x", "InputLayer", OnnxArguments().Set("batch_shape", batch_shape), {})
        .value();
  }

  int Dense(const std::string& name, int input, const std::string& weight) {
    return layers_
        .Add(name, "Dense", OnnxArguments().Number("units", 1).Flag("use_bias", false), {input},
             {{weight, {1, 2}}})
        .value();
  }

  OnnxBudget budget_{100000};
  OnnxLayers layers_{&budget_};
};

TEST_F(OnnxLayersTest, AViewInTheOrderOfMemoryNeedsNoLayer) {
  const int input = Input({4, 3, 2});
  const OnnxValue image = ChannelsFirst(input, {4, 3, 2});
  EXPECT_EQ(layers_.Arranged(image, {{1}, {2}, {3}}).value(), input);
  const int flat = layers_.Arranged(image, {{1, 2, 3}}).value();
  EXPECT_EQ(layers_.entry(flat).spec.class_name(), "Flatten");
  const int permuted = layers_.Arranged(image, {{3}, {1}, {2}}).value();
  EXPECT_EQ(layers_.entry(permuted).spec.class_name(), "Permute");
  EXPECT_THAT(layers_.shape(permuted), ElementsAre(2, 4, 3));
  EXPECT_FALSE(layers_.Arranged(image, {{0}, {1, 2, 3}}).ok());
}

TEST_F(OnnxLayersTest, TheLastAxisMayHaveAnotherOrderThanOnnx) {
  const int input = Input({2, 3});
  const OnnxValue flat = {.layer = input, .sizes = {2, 3}, .axes = {{0}, {2, 1}}};
  const auto rows = layers_.WithLastAxis(flat, flat.axes[1]);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->width, 6);
  EXPECT_THAT(layers_.shape(rows->value.layer), ElementsAre(6));
  // In memory (2, 3), in ONNX (3, 2).
  EXPECT_THAT(rows->order, ElementsAre(0, 2, 4, 1, 3, 5));
  // The first axis in memory is moved behind the other.
  const OnnxValue whole = WholeValue(input, {2, 3});
  const auto moved = layers_.WithLastAxis(whole, whole.axes[1]);
  ASSERT_TRUE(moved.ok()) << moved.status();
  EXPECT_THAT(layers_.shape(moved->value.layer), ElementsAre(3, 2));
  EXPECT_EQ(moved->value.axes, (std::vector<std::vector<int>>{{0}, {2}, {1}}));
  EXPECT_FALSE(layers_.WithLastAxis(whole, whole.axes[0]).ok());
}

TEST_F(OnnxLayersTest, LayersOfTheSameWeightsAreCallsOfOne) {
  const int input = Input({2});
  const int first = Dense("a", input, "w");
  const int second = Dense("b", input, "w");
  const int other = Dense("c", input, "v");
  Dense("unused", input, "u");
  const auto model = layers_.Finish({first, second, other});
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_EQ(model->spec.layers_size(), 4);
  EXPECT_EQ(model->spec.layers(2).shares(), "a");
  EXPECT_EQ(model->spec.layers(3).shares(), "");
  ASSERT_EQ(model->weights.size(), 2);
  EXPECT_EQ(model->weights[1].name, "c/kernel");
  EXPECT_TRUE(Model::Create(model->spec).ok());
}

TEST_F(OnnxLayersTest, WeightsFillTheirVariables) {
  const int input = Input({3});
  const auto dense = layers_.Add("d", "Dense", OnnxArguments().Number("units", 1), {input},
                                 {{"w", {1, 2, 3}}, {"b", {1, 2}}});
  EXPECT_THAT(std::string(dense.status().message()),
              HasSubstr("weight 'b' has 2 elements, which do not fill the shape (1,) of d/bias"));
}

TEST_F(OnnxLayersTest, NamesAreUnique) {
  const int input = Input({2});
  EXPECT_EQ(layers_.entry(Dense("", input, "w")).spec.name(), "dense");
  EXPECT_EQ(layers_.entry(Dense("", input, "w")).spec.name(), "dense_1");
  EXPECT_EQ(layers_.entry(Dense("x", input, "w")).spec.name(), "x_1");
}

TEST(OnnxLayerNameTest, IsThatOfTheWeightsOrOfThePlace) {
  EXPECT_EQ(OnnxLayerName("features.0.weight", "/features/features.0/Conv", "Conv"), "features.0");
  EXPECT_EQ(OnnxLayerName("dense/kernel:0", "MatMul:3", "MatMul"), "dense");
  EXPECT_EQ(OnnxLayerName("onnx::MatMul_12", "/blocks/fc1/MatMul", "MatMul"), "blocks.fc1");
  EXPECT_EQ(OnnxLayerName("onnx::MatMul_12", "MatMul_3", "MatMul"), "");
  EXPECT_EQ(OnnxLayerName("", "/Relu", "Relu"), "");
}

}  // namespace
}  // namespace cairn::nn

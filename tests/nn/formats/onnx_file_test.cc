#include "nn/formats/onnx_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/formats/keras_json.h"
#include "proto/onnx.pb.h"

namespace cairn::nn {
namespace {

using ::testing::HasSubstr;

// A Sequential model of an input (null, `shape`) and these layers.
proto::ModelSpec Chain(const std::string& shape, const std::string& layers) {
  return ReadKerasJson(R"({"class_name": "Sequential", "config": {"name": "m", "layers": [
      {"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, )" +
                       shape + "]}}, " + layers + "]}}")
      .value();
}

TEST(OnnxFileTest, ADenseLayerIsAProductASumAndAnActivation) {
  const auto spec = Chain("2", R"({"class_name": "Dense", "config": {"name": "d", "units": 1,
                                   "activation": "tanh"}})");
  const auto files = WriteOnnxFile(spec, {{"k", {2, 1}, {1, 2}}, {"b", {1}, {3}}});
  ASSERT_TRUE(files.ok()) << files.status();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(files->at(0)));
  std::string operators;
  for (const auto& node : model.graph().node()) operators += node.op_type() + " ";
  EXPECT_EQ(operators, "MatMul Add Tanh Identity ");
  EXPECT_EQ(model.graph().input(0).name(), "i");
  EXPECT_EQ(model.graph().output(0).name(), "d");
  EXPECT_EQ(model.graph().output(0).type().tensor_type().shape().dim(1).dim_value(), 1);
  ASSERT_EQ(model.graph().initializer_size(), 2);
  const float kernel[] = {1, 2};
  EXPECT_EQ(model.graph().initializer(0).raw_data(),
            std::string(reinterpret_cast<const char*>(kernel), sizeof(kernel)));
}

// The kernel (height, width, channels, filters) becomes (filters, channels, height, width).
TEST(OnnxFileTest, KernelsHaveTheirFiltersFirst) {
  const auto spec = Chain("3, 3, 2", R"({"class_name": "Conv2D", "config": {"name": "c",
      "filters": 2, "kernel_size": [1, 1], "use_bias": false}})");
  const auto files = WriteOnnxFile(spec, {{"k", {1, 1, 2, 2}, {1, 2, 3, 4}}});
  ASSERT_TRUE(files.ok()) << files.status();
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(files->at(0)));
  for (const auto& tensor : model.graph().initializer()) {
    if (tensor.data_type() != onnx::TensorProto::FLOAT) continue;
    const float kernel[] = {1, 3, 2, 4};
    EXPECT_EQ(tensor.raw_data(),
              std::string(reinterpret_cast<const char*>(kernel), sizeof(kernel)));
  }
}

TEST(OnnxFileTest, RefusesByName) {
  const auto encoding = Chain("2, 2, 1", R"({"class_name": "RandomCrop",
                                       "config": {"name": "e", "height": 1, "width": 1}})");
  EXPECT_EQ(WriteOnnxFile(encoding, {}).status().message(),
            "layer 'e' (RandomCrop): an ONNX export does not have this layer");
  // ONNX's GRU does not have this activation.
  const auto gru = Chain("1001, 2", R"({"class_name": "GRU", "config": {"name": "g", "units": 1,
                                        "activation": "elu", "use_bias": false}})");
  EXPECT_EQ(WriteOnnxFile(
                gru, {{"k", {2, 3}, std::vector<float>(6)}, {"r", {1, 3}, std::vector<float>(3)}})
                .status()
                .message(),
            "layer 'g' (GRU): an ONNX export has at most 1000 steps of a recurrent layer that is "
            "written step by step");
  EXPECT_FALSE(WriteOnnxFile(gru, {}).ok());
}

}  // namespace
}  // namespace cairn::nn

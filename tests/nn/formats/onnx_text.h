#ifndef CAIRN_TESTS_NN_FORMATS_ONNX_TEXT_H_
#define CAIRN_TESTS_NN_FORMATS_ONNX_TEXT_H_

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nn/formats/onnx_reader.h"
#include "nn/model.h"
#include "proto/onnx.pb.h"

namespace cairn::nn {

// A graph with an input x of (batch, `sizes`) and an output y.
class OnnxText {
 public:
  explicit OnnxText(const std::vector<int>& sizes) {
    model_.set_ir_version(8);
    model_.add_opset_import()->set_version(17);
    auto& input = *model_.mutable_graph()->add_input();
    input.set_name("x");
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    type.mutable_shape()->add_dim()->set_dim_param("batch");
    for (const int size : sizes) type.mutable_shape()->add_dim()->set_dim_value(size);
    model_.mutable_graph()->add_output()->set_name("y");
  }

  OnnxText& Weight(const std::string& name, const std::vector<int>& shape) {
    auto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    int count = 1;
    for (const int size : shape) count *= size;
    for (const int size : shape) tensor.add_dims(size);
    for (int i = 0; i < count; ++i) tensor.add_float_data(static_cast<float>(i + 1));
    return *this;
  }

  OnnxText& Integers(const std::string& name, const std::vector<int>& values) {
    auto& tensor = *model_.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (const int value : values) tensor.add_int64_data(value);
    return *this;
  }

  // A node in the text form of its message.
  OnnxText& Node(const std::string& text) {
    EXPECT_TRUE(
        google::protobuf::TextFormat::ParseFromString(text, model_.mutable_graph()->add_node()))
        << text;
    return *this;
  }

  onnx::ModelProto& model() { return model_; }
  std::string file() const { return model_.SerializeAsString(); }
  absl::StatusOr<ImportedModel> Read() const { return ReadOnnxFile(file(), {}); }

  // The classes of the layers behind the input, or the error. The model must be valid.
  std::string Layers() const {
    const auto imported = Read();
    if (!imported.ok()) return std::string(imported.status().message());
    EXPECT_TRUE(Model::Create(imported->spec).ok());
    std::string classes;
    for (const proto::LayerSpec& layer : imported->spec.layers()) {
      if (layer.class_name() == "InputLayer") continue;
      classes += (classes.empty() ? "" : " ") + layer.class_name();
    }
    return classes;
  }

 private:
  onnx::ModelProto model_;
};

}  // namespace cairn::nn

#endif  // CAIRN_TESTS_NN_FORMATS_ONNX_TEXT_H_

#include "nn/formats/onnx_graph.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace cairn::nn {
namespace {

// Operator set 17 is the first one with LayerNormalization. Both versions are of 2022.
constexpr int64_t kIrVersion = 8;
constexpr int64_t kOperatorSet = 17;
// Of classical models, with LabelEncoder: of 2021.
constexpr char kMlDomain[] = "ai.onnx.ml";
constexpr int64_t kMlOperatorSet = 3;

void Describe(const std::string& name, const TensorSpec& spec, onnx::ValueInfoProto* value) {
  value->set_name(name);
  auto* const tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(spec.type == proto::INT32   ? onnx::TensorProto::INT32
                        : spec.type == proto::INT64 ? onnx::TensorProto::INT64
                                                    : onnx::TensorProto::FLOAT);
  tensor->mutable_shape()->add_dim()->set_dim_param("batch");
  for (const int64_t size : spec.shape) tensor->mutable_shape()->add_dim()->set_dim_value(size);
}

}  // namespace

OnnxGraph::Attribute::Attribute(const char* name, int64_t value) {
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::INT);
  proto.set_i(value);
}

OnnxGraph::Attribute::Attribute(const char* name, float value) {
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::FLOAT);
  proto.set_f(value);
}

OnnxGraph::Attribute::Attribute(const char* name, const char* value) {
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::STRING);
  proto.set_s(value);
}

OnnxGraph::Attribute::Attribute(const char* name, const std::vector<int64_t>& values) {
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::INTS);
  proto.mutable_ints()->Assign(values.begin(), values.end());
}

OnnxGraph::Attribute::Attribute(const char* name, const std::vector<float>& values) {
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::FLOATS);
  proto.mutable_floats()->Assign(values.begin(), values.end());
}

OnnxGraph::Attribute::Attribute(const char* name, const std::vector<std::string>& values) {
  proto.set_name(name);
  proto.set_type(onnx::AttributeProto::STRINGS);
  proto.mutable_strings()->Assign(values.begin(), values.end());
}

OnnxGraph::OnnxGraph(const std::string& name) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("Cairn");
  model_.add_opset_import()->set_version(kOperatorSet);
  model_.mutable_graph()->set_name(name);
}

std::string OnnxGraph::Add(const char* op, const std::vector<std::string>& inputs,
                           const std::vector<Attribute>& attributes, int output) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  const std::string name = absl::StrCat(op, ":", names_++);
  node.set_name(name);
  node.set_op_type(op);
  node.mutable_input()->Assign(inputs.begin(), inputs.end());
  for (int i = 0; i < output; ++i) node.add_output();
  node.add_output(name);
  for (const Attribute& attribute : attributes) *node.add_attribute() = attribute.proto;
  return name;
}

std::vector<std::string> OnnxGraph::AddSeveral(const char* op,
                                               const std::vector<std::string>& inputs,
                                               const std::vector<Attribute>& attributes,
                                               int count) {
  std::vector<std::string> names = {Add(op, inputs, attributes)};
  onnx::GraphProto& graph = *model_.mutable_graph();
  onnx::NodeProto& node = *graph.mutable_node(graph.node_size() - 1);
  for (int i = 1; i < count; ++i) {
    names.push_back(absl::StrCat(names[0], ".", i));
    node.add_output(names.back());
  }
  return names;
}

std::string OnnxGraph::AddMl(const char* op, const std::vector<std::string>& inputs,
                             const std::vector<Attribute>& attributes) {
  std::string name = Add(op, inputs, attributes);
  auto& nodes = *model_.mutable_graph()->mutable_node();
  nodes[nodes.size() - 1].set_domain(kMlDomain);
  if (std::exchange(imports_ml_, true)) return name;
  onnx::OperatorSetIdProto& set = *model_.add_opset_import();
  set.set_domain(kMlDomain);
  set.set_version(kMlOperatorSet);
  return name;
}

std::string OnnxGraph::Constant(const Shape& shape, const std::vector<float>& values,
                                const std::string& weight) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Assign(shape.begin(), shape.end());
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  auto& initializers = *model_.mutable_graph()->mutable_initializer();
  if (!weight.empty()) {
    tensor.set_name(absl::EndsWith(weight, ":0") ? weight : weight + ":0");
    const auto [place, is_new] = weights_.emplace(tensor.name(), initializers.size());
    if (!is_new) {
      const onnx::TensorProto& other = initializers[place->second];
      const bool is_same = other.raw_data() == tensor.raw_data() &&
                           Shape(other.dims().begin(), other.dims().end()) == shape;
      if (is_same) return other.name();
      tensor.clear_name();
    }
  }
  if (tensor.name().empty()) tensor.set_name(absl::StrCat("constant:", names_++));
  *initializers.Add() = std::move(tensor);
  return initializers[initializers.size() - 1].name();
}

std::string OnnxGraph::Integers(const std::vector<int64_t>& values) {
  onnx::TensorProto& tensor = *model_.mutable_graph()->add_initializer();
  tensor.set_name(absl::StrCat("constant:", names_++));
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(values.size());
  tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return tensor.name();
}

void OnnxGraph::Input(const std::string& name, const TensorSpec& spec) {
  Describe(name, spec, model_.mutable_graph()->add_input());
}

void OnnxGraph::TextInput(const std::string& name, const Shape& shape) {
  onnx::ValueInfoProto* const input = model_.mutable_graph()->add_input();
  Describe(name, {.shape = shape}, input);
  input->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::STRING);
}

void OnnxGraph::Output(const std::string& value, const std::string& name, const Shape& shape) {
  onnx::NodeProto& node = *model_.mutable_graph()->add_node();
  node.set_name(name);
  node.set_op_type("Identity");
  node.add_input(value);
  node.add_output(name);
  Describe(name, {.shape = shape}, model_.mutable_graph()->add_output());
}

std::string OnnxGraph::Reshape(const std::string& value, const Shape& shape) {
  std::vector<int64_t> sizes = {-1};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return Add("Reshape", {value, Integers(sizes)});
}

}  // namespace cairn::nn

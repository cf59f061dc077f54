#include "nn/formats/tensorflow_graph.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nn/formats/crc32c.h"

namespace cairn::nn {
namespace {

namespace tf = ::cairn::tensorflow;

// Graphs of the TensorFlow of 2022, which has all operators that Cairn writes.
constexpr int kGraphVersion = 1087;

}  // namespace

void TensorflowGraph::SetShape(const Shape& shape, tf::TensorShapeProto* proto) {
  for (const int64_t size : shape) proto->add_dim()->set_size(size);
}

tensorflow::DataType TensorflowGraph::TypeOf(const TensorSpec& spec) {
  return spec.type == proto::INT32   ? tf::DT_INT32
         : spec.type == proto::INT64 ? tf::DT_INT64
                                     : tf::DT_FLOAT;
}

TensorflowGraph::TensorflowGraph() { graph_.mutable_versions()->set_producer(kGraphVersion); }

std::string TensorflowGraph::Node(const char* op, const std::vector<std::string>& inputs,
                                  const std::vector<Attribute>& attributes) {
  tf::NodeDef& node = *graph_.add_node();
  node.set_name(absl::StrCat(op, "_", graph_.node_size()));
  node.set_op(op);
  node.mutable_input()->Assign(inputs.begin(), inputs.end());
  for (const Attribute& each : attributes) (*node.mutable_attr())[each.name] = each.value;
  return node.name();
}

std::string TensorflowGraph::Add(const char* op, const std::vector<std::string>& inputs,
                                 std::vector<Attribute> attributes) {
  attributes.push_back({"T", tf::DT_FLOAT});
  return Node(op, inputs, attributes);
}

std::string TensorflowGraph::Constant(const Shape& shape, const std::vector<float>& values) {
  return Constant(tf::DT_FLOAT, shape, values.data(), values.size() * sizeof(float));
}

std::string TensorflowGraph::Integers(const Ints& values) {
  return Constant(tf::DT_INT32, {static_cast<int64_t>(values.size())}, values.data(),
                  values.size() * sizeof(int32_t));
}

std::string TensorflowGraph::Int64(int64_t value) {
  return Constant(tf::DT_INT64, {}, &value, sizeof(value));
}

std::string TensorflowGraph::Int64s(const std::vector<int64_t>& values) {
  return Constant(tf::DT_INT64, {static_cast<int64_t>(values.size())}, values.data(),
                  values.size() * sizeof(int64_t));
}

std::string TensorflowGraph::Integer(int32_t value) {
  return Constant(tf::DT_INT32, {}, &value, sizeof(value));
}

std::string TensorflowGraph::Cast(const std::string& x, tf::DataType from, tf::DataType to) {
  return Node("Cast", {x}, {{"SrcT", from}, {"DstT", to}});
}

std::string TensorflowGraph::Reshape(const std::string& x, const Shape& shape) {
  Ints sizes = {-1};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return Add("Reshape", {x, Integers(sizes)}, {{"Tshape", tf::DT_INT32}});
}

std::string TensorflowGraph::Slice(const std::string& x, const Ints& begin, const Ints& size) {
  return Add("Slice", {x, Integers(begin), Integers(size)}, {{"Index", tf::DT_INT32}});
}

std::string TensorflowGraph::Split(const std::string& x, int axis, int64_t parts) {
  return Add("Split", {Integer(axis), x}, {{"num_split", parts}});
}

std::string TensorflowGraph::Concatenate(std::vector<std::string> values, int axis) {
  const auto count = static_cast<int64_t>(values.size());
  if (count == 1) return values[0];
  values.push_back(Integer(axis));
  return Add("ConcatV2", values, {{"N", count}, {"Tidx", tf::DT_INT32}});
}

std::string TensorflowGraph::Pad(const std::string& x, const Ints& before, const Ints& after) {
  Ints pads = {0, 0};
  for (size_t i = 0; i < before.size(); ++i) {
    pads.push_back(before[i]);
    pads.push_back(after[i]);
  }
  if (std::count(pads.begin(), pads.end(), 0) == static_cast<int64_t>(pads.size())) return x;
  const std::string table = Constant(tf::DT_INT32, {static_cast<int64_t>(pads.size() / 2), 2},
                                     pads.data(), pads.size() * sizeof(int32_t));
  return Add("Pad", {x, table}, {{"Tpaddings", tf::DT_INT32}});
}

std::string TensorflowGraph::Reduce(const char* op, const std::string& x, const Ints& axes,
                                    bool keeps) {
  return Add(op, {x, Integers(axes)}, {{"Tidx", tf::DT_INT32}, {"keep_dims", keeps}});
}

std::string TensorflowGraph::Transpose(const std::string& x, const Ints& order) {
  return Add("Transpose", {x, Integers(order)}, {{"Tperm", tf::DT_INT32}});
}

std::string TensorflowGraph::Placeholder(const Shape& shape, tf::DataType type) {
  std::string name = Node("Placeholder", {}, {{"dtype", type}});
  tf::TensorShapeProto sizes;
  SetShape({-1}, &sizes);
  SetShape(shape, &sizes);
  auto& attributes = *graph_.mutable_node(graph_.node_size() - 1)->mutable_attr();
  *attributes["shape"].mutable_shape() = sizes;
  return name;
}

std::string TensorflowGraph::LookUp(const std::string& x, const std::string& keys,
                                    tf::DataType type, const std::vector<float>& values,
                                    float other) {
  // Operators share a table by its name, and so do the models in one process: tables with one name
  // have the same contents.
  uint32_t contents =
      Crc32c({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  for (const tf::NodeDef& node : graph_.node()) {
    if (node.name() != keys) continue;
    contents = Crc32c(node.attr().at("value").tensor().SerializeAsString(), contents);
  }
  const std::string name = absl::StrCat("cairn_table_", values.size(), "_", contents);
  const std::string table =
      Node("HashTableV2", {},
           {{"shared_name", name.c_str()}, {"key_dtype", type}, {"value_dtype", tf::DT_FLOAT}});
  const std::vector<Attribute> types = {{"Tin", type}, {"Tout", tf::DT_FLOAT}};
  const std::string numbers = Constant({static_cast<int64_t>(values.size())}, values);
  fillings_.push_back(Node("LookupTableImportV2", {table, keys, numbers}, types));
  return Node("LookupTableFindV2", {table, x, Scalar(other)}, types);
}

std::string TensorflowGraph::AddInitialization() {
  if (fillings_.empty()) return "";
  std::vector<std::string> operators;
  for (const std::string& filling : fillings_) operators.push_back("^" + filling);
  return Node("NoOp", operators, {});
}

std::string TensorflowGraph::Text(const std::string& value) { return TextConstant({}, {value}); }

std::string TensorflowGraph::Texts(const std::vector<std::string>& values) {
  return TextConstant({static_cast<int64_t>(values.size())}, values);
}

std::string TensorflowGraph::TextConstant(const Shape& shape,
                                          const std::vector<std::string>& values) {
  std::string name = Node("Const", {}, {{"dtype", tf::DT_STRING}});
  auto& attributes = *graph_.mutable_node(graph_.node_size() - 1)->mutable_attr();
  tf::TensorProto& tensor = *attributes["value"].mutable_tensor();
  tensor.set_dtype(tf::DT_STRING);
  SetShape(shape, tensor.mutable_tensor_shape());
  tensor.mutable_string_val()->Assign(values.begin(), values.end());
  return name;
}

std::string TensorflowGraph::Constant(tf::DataType type, const Shape& shape, const void* values,
                                      size_t bytes) {
  std::string name = Node("Const", {}, {{"dtype", type}});
  auto& attributes = *graph_.mutable_node(graph_.node_size() - 1)->mutable_attr();
  tf::TensorProto& tensor = *attributes["value"].mutable_tensor();
  tensor.set_dtype(type);
  SetShape(shape, tensor.mutable_tensor_shape());
  tensor.set_tensor_content(values, bytes);
  return name;
}

}  // namespace cairn::nn

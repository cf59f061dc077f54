#ifndef CAIRN_NN_FORMATS_ONNX_NODE_H_
#define CAIRN_NN_FORMATS_ONNX_NODE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "proto/onnx.pb.h"

namespace cairn::nn {

// A node of an ONNX graph with the attributes of its operator. An attribute that no getter has read
// is an error (CheckAllRead), because it may change the result. A view: the node must outlive it.
class OnnxNode {
 public:
  // `opset`: the version of the operators, as the file states it.
  OnnxNode(const onnx::NodeProto* node, int64_t opset) : node_(node), opset_(opset) {}

  const onnx::NodeProto& proto() const { return *node_; }
  const std::string& op() const { return node_->op_type(); }
  int64_t opset() const { return opset_; }
  int inputs() const { return node_->input_size(); }
  // The name of an input; empty if it is absent.
  std::string input(int i) const { return i < inputs() ? node_->input(i) : std::string(); }

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  int64_t Int(std::string_view name, int64_t default_value) const;
  float Float(std::string_view name, float default_value) const;
  std::string Text(std::string_view name, const std::string& default_value) const;
  // nullopt if absent.
  std::optional<std::vector<int64_t>> Ints(std::string_view name) const;
  std::vector<float> Floats(std::string_view name) const;
  std::vector<std::string> Texts(std::string_view name) const;
  const onnx::TensorProto* Tensor(std::string_view name) const;
  // Accepts these attributes whatever their value.
  void Ignore(std::initializer_list<const char*> names) const;

  // INVALID_ARGUMENT names an attribute that was not read.
  absl::Status CheckAllRead() const;
  // INVALID_ARGUMENT: "node 'conv1' (Conv): REASON".
  absl::Status Error(std::string_view reason) const;

 private:
  const onnx::AttributeProto* Find(std::string_view name) const;

  const onnx::NodeProto* node_;
  int64_t opset_;
  mutable std::set<std::string> read_;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_NODE_H_

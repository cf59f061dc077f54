#include "nn/formats/onnx_node.h"

#include "absl/strings/str_cat.h"

namespace cairn::nn {

const onnx::AttributeProto* OnnxNode::Find(std::string_view name) const {
  read_.insert(std::string(name));
  for (const onnx::AttributeProto& attribute : node_->attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t OnnxNode::Int(std::string_view name, int64_t default_value) const {
  const onnx::AttributeProto* const found = Find(name);
  return found == nullptr ? default_value : found->i();
}

float OnnxNode::Float(std::string_view name, float default_value) const {
  const onnx::AttributeProto* const found = Find(name);
  return found == nullptr ? default_value : found->f();
}

std::string OnnxNode::Text(std::string_view name, const std::string& default_value) const {
  const onnx::AttributeProto* const found = Find(name);
  return found == nullptr ? default_value : found->s();
}

std::optional<std::vector<int64_t>> OnnxNode::Ints(std::string_view name) const {
  const onnx::AttributeProto* const found = Find(name);
  if (found == nullptr) return std::nullopt;
  return std::vector<int64_t>(found->ints().begin(), found->ints().end());
}

std::vector<float> OnnxNode::Floats(std::string_view name) const {
  const onnx::AttributeProto* const found = Find(name);
  if (found == nullptr) return {};
  return {found->floats().begin(), found->floats().end()};
}

std::vector<std::string> OnnxNode::Texts(std::string_view name) const {
  const onnx::AttributeProto* const found = Find(name);
  if (found == nullptr) return {};
  return {found->strings().begin(), found->strings().end()};
}

const onnx::TensorProto* OnnxNode::Tensor(std::string_view name) const {
  const onnx::AttributeProto* const found = Find(name);
  return found == nullptr ? nullptr : &found->t();
}

void OnnxNode::Ignore(std::initializer_list<const char*> names) const {
  read_.insert(names.begin(), names.end());
}

absl::Status OnnxNode::CheckAllRead() const {
  for (const onnx::AttributeProto& attribute : node_->attribute()) {
    if (read_.count(attribute.name()) > 0) continue;
    return Error(absl::StrCat("attribute '", attribute.name(), "' is not supported"));
  }
  return absl::OkStatus();
}

absl::Status OnnxNode::Error(std::string_view reason) const {
  std::string name = node_->name();
  if (name.empty() && node_->output_size() > 0) name = node_->output(0);
  return absl::InvalidArgumentError(
      absl::StrCat("node '", name, "' (", op(), "): ", std::string(reason)));
}

}  // namespace cairn::nn

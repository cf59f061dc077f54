#include "nn/model.h"

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/layers/create_layer.h"

namespace cairn::nn {
namespace {

using NodesByName = absl::flat_hash_map<std::string, int>;

absl::Status LayerError(const proto::LayerSpec& spec, const std::string& reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("layer '", spec.name(), "' (", spec.class_name(), "): ", reason));
}

// The nodes that a layer takes its inputs from.
absl::StatusOr<std::vector<int>> FindInputs(const proto::LayerSpec& spec,
                                            const NodesByName& nodes) {
  std::vector<int> inputs;
  for (const std::string& name : spec.inputs()) {
    const auto found = nodes.find(name);
    if (found == nodes.end()) {
      return LayerError(spec, absl::StrCat("no layer '", name, "' stands before it"));
    }
    inputs.push_back(found->second);
  }
  if (inputs.empty() != (spec.class_name() == "InputLayer")) {
    return LayerError(spec, inputs.empty() ? "has no inputs" : "cannot have inputs");
  }
  return inputs;
}

// Every variable's name once: they are keys throughout the cluster.
absl::Status ExpectUniqueVariables(const std::vector<VariableSpec>& variables) {
  absl::flat_hash_set<std::string> names;
  for (const VariableSpec& variable : variables) {
    if (!names.insert(variable.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("two variables are called ", variable.name));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> FindNode(const std::string& name, const NodesByName& nodes) {
  const auto found = nodes.find(name);
  if (found != nodes.end()) return found->second;
  return absl::InvalidArgumentError(absl::StrCat("the model has no layer '", name, "'"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> Model::Create(const proto::ModelSpec& spec) {
  std::unique_ptr<Model> model(new Model);
  NodesByName nodes;
  for (const proto::LayerSpec& layer : spec.layers()) {
    CAIRN_ASSIGN_OR_RETURN(std::vector<int> inputs, FindInputs(layer, nodes));
    if (!nodes.emplace(layer.name(), static_cast<int>(model->nodes_.size())).second) {
      return LayerError(layer, "another layer has the same name");
    }
    CAIRN_RETURN_IF_ERROR(model->AddLayer(layer, std::move(inputs)));
  }
  CAIRN_RETURN_IF_ERROR(ExpectUniqueVariables(model->variables_));

  if (spec.outputs_size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model has ", spec.outputs_size(), " outputs; exactly 1 is supported"));
  }
  CAIRN_ASSIGN_OR_RETURN(model->output_, FindNode(spec.outputs(0), nodes));
  const TensorSpec& output = model->nodes_[model->output_].layer->output();
  if (output.type != proto::FLOAT32) {
    return absl::InvalidArgumentError("the model's output is not float32");
  }
  CAIRN_RETURN_IF_ERROR(model->AddInputs(spec));
  CAIRN_RETURN_IF_ERROR(model->ExpectAllUsed());
  return model;
}

absl::Status Model::AddLayer(const proto::LayerSpec& spec, std::vector<int> inputs) {
  std::vector<TensorSpec> input_specs;
  for (int input : inputs) input_specs.push_back(nodes_[input].layer->output());
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<const Layer> layer,
                         CreateLayer(spec, std::move(input_specs)));
  const absl::StatusOr<int64_t> elements = CheckedElementCount(layer->output().shape);
  if (!elements.ok()) {
    return LayerError(spec, absl::StrCat("output's ", std::string(elements.status().message())));
  }
  Node node{.inputs = std::move(inputs), .first_variable = static_cast<int>(variables_.size())};
  for (const LayerVariable& variable : layer->variables()) variables_.push_back(variable.spec);
  node.layer = std::move(layer);
  nodes_.push_back(std::move(node));
  return absl::OkStatus();
}

absl::Status Model::AddInputs(const proto::ModelSpec& spec) {
  absl::flat_hash_set<int> listed;
  for (const std::string& name : spec.inputs()) {
    int position = -1;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].layer->name() == name && nodes_[i].inputs.empty()) position = i;
    }
    if (position < 0 || !listed.insert(position).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("input '", name, "' is not an InputLayer, or is listed twice"));
    }
    inputs_.push_back({name, nodes_[position].layer->output()});
    input_nodes_.push_back(position);
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].inputs.empty() && !listed.contains(static_cast<int>(i))) {
      return absl::InvalidArgumentError(absl::StrCat("InputLayer '", nodes_[i].layer->name(),
                                                     "' is not among the model's inputs"));
    }
  }
  if (inputs_.empty()) return absl::InvalidArgumentError("the model has no inputs");
  return absl::OkStatus();
}

absl::Status Model::ExpectAllUsed() const {
  std::vector<bool> is_used(nodes_.size(), false);
  is_used[output_] = true;
  for (int i = static_cast<int>(nodes_.size()) - 1; i >= 0; --i) {
    const bool is_input = nodes_[i].inputs.empty();
    if (!is_used[i] && !is_input) {
      return absl::InvalidArgumentError(absl::StrCat("layer '", nodes_[i].layer->name(),
                                                     "' does not lead to the model's output"));
    }
    for (int input : nodes_[i].inputs) is_used[input] = true;
  }
  return absl::OkStatus();
}

}  // namespace cairn::nn

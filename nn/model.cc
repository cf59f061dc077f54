#include "nn/model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/initializer.h"
#include "nn/layers/create_layer.h"
#include "nn/layers/input.h"
#include "nn/layers/layer_output.h"
#include "nn/moving_average.h"

namespace cairn::nn {
namespace {

using NodesByName = absl::flat_hash_map<std::string, int>;
using LayerCreator = decltype(&CreateLayer);

absl::Status LayerError(const proto::LayerSpec& spec, const std::string& reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("layer '", spec.name(), "' (", spec.class_name(), "): ", reason));
}

// Resolves the names of a layer's inputs to nodes.
absl::StatusOr<std::vector<int>> FindInputs(const proto::LayerSpec& spec,
                                            const NodesByName& nodes) {
  std::vector<int> inputs;
  for (const std::string& name : spec.inputs()) {
    const auto found = nodes.find(name);
    if (found == nodes.end()) {
      return LayerError(spec, absl::StrCat("its input '", name, "' is not a layer before it"));
    }
    inputs.push_back(found->second);
  }
  if (inputs.empty() != (spec.class_name() == "InputLayer")) {
    return LayerError(spec, inputs.empty() ? "has no inputs" : "cannot have inputs");
  }
  return inputs;
}

absl::StatusOr<std::unique_ptr<const Layer>> CreateOn(const proto::LayerSpec& spec,
                                                      const std::vector<Model::Node>& nodes,
                                                      const std::vector<int>& inputs,
                                                      LayerCreator create_layer) {
  if (spec.class_name() == kLayerOutput && inputs.size() == 1) {
    return LayerOutputLayer::Create(spec, *nodes[inputs[0]].layer);
  }
  std::vector<TensorSpec> specs;
  for (const int input : inputs) {
    const Layer& from = *nodes[input].layer;
    if (!OutputsOf(from).empty()) {
      return LayerError(spec, absl::StrCat("its input '", from.name(),
                                           "' has several outputs (return_state); it takes one"));
    }
    specs.push_back(from.output());
  }
  return create_layer(spec, std::move(specs));
}

// Variable names must be unique: they are keys throughout the cluster.
absl::Status ExpectUniqueVariables(const std::vector<VariableSpec>& variables) {
  absl::flat_hash_set<std::string> names;
  for (const VariableSpec& variable : variables) {
    if (!names.insert(variable.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two variables have the name '", variable.name, "'"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int> FindNode(const std::string& name, const NodesByName& nodes) {
  const auto found = nodes.find(name);
  if (found != nodes.end()) return found->second;
  return absl::InvalidArgumentError(absl::StrCat("the model has no layer '", name, "'"));
}

// A mask that is neither that of the graph nor none.
constexpr int kUnknownMask = -2;

// The number of steps of the mask that a node has or writes.
int64_t MaskSteps(const Model::Node& node) {
  const Shape& shape = node.layer->output().shape;
  return node.writes_mask ? shape[0] : ElementCount(shape);
}

// INVALID_ARGUMENT: the mask of a node is not one of `shape`.
absl::Status CheckMask(const Model::Node& mask, const char* of, const Shape& shape) {
  if (!shape.empty() && MaskSteps(mask) == shape[0]) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the mask of layer '", mask.layer->name(),
                                                 "' has ", MaskSteps(mask), " steps, the ", of, " ",
                                                 ShapeText(shape)));
}

// Whether the layer takes the texts of an input, or else numbers. Hashing takes both.
bool Takes(const Layer& layer, bool text) {
  if (layer.class_name() == "Hashing") return true;
  return text ==
         (layer.class_name() == "StringLookup" || layer.class_name() == "TextVectorization");
}

// Text ends at the first layer: each text has one StringLookup, and nothing else has one.
absl::Status CheckTexts(const Model& model) {
  std::vector<int> uses(model.nodes().size());
  for (const Model::Node& node : model.nodes()) {
    for (const int input : node.inputs) {
      const Layer& from = *model.nodes()[input].layer;
      const bool takes = Takes(*node.layer, IsText(from));
      if (!takes || (IsText(from) && ++uses[input] > 1)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "layer '", node.layer->name(), "' (", node.layer->class_name(), "): ",
            !takes
                ? absl::StrCat("'", from.name(),
                               IsText(from) ? "' is text, which only a StringLookup takes"
                                            : "' is not an InputLayer of dtype string")
                : absl::StrCat("'", from.name(), "' has another StringLookup; use one for both")));
      }
    }
  }
  for (size_t i = 0; i < uses.size(); ++i) {
    if (uses[i] > 0 || !IsText(*model.nodes()[i].layer)) continue;
    return absl::InvalidArgumentError(absl::StrCat("layer '", model.nodes()[i].layer->name(),
                                                   "' (InputLayer): no StringLookup takes its "
                                                   "texts"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> Model::Create(const proto::ModelSpec& spec) {
  return Create(spec, CreateLayer);
}

absl::StatusOr<std::unique_ptr<Model>> Model::CreateForExport(const proto::ModelSpec& spec) {
  return Create(spec, CreateLayerForExport);
}

absl::StatusOr<std::unique_ptr<Model>> Model::Create(const proto::ModelSpec& spec,
                                                     LayerCreator create_layer) {
  std::unique_ptr<Model> model(new Model(create_layer));
  NodesByName nodes;
  for (const proto::LayerSpec& layer : spec.layers()) {
    CAIRN_ASSIGN_OR_RETURN(std::vector<int> inputs, FindInputs(layer, nodes));
    if (nodes.contains(layer.name())) return LayerError(layer, "another layer has the same name");
    CAIRN_RETURN_IF_ERROR(model->AddLayer(layer, nodes, std::move(inputs)));
    nodes.emplace(layer.name(), static_cast<int>(model->nodes_.size()) - 1);
  }
  model->WeighStatistics();
  CAIRN_RETURN_IF_ERROR(ExpectUniqueVariables(model->variables_));
  CAIRN_RETURN_IF_ERROR(CheckTexts(*model));

  CAIRN_RETURN_IF_ERROR(model->AddOutputs(spec, nodes));
  CAIRN_RETURN_IF_ERROR(model->AddInputs(spec));
  CAIRN_RETURN_IF_ERROR(model->ExpectAllUsed());
  return model;
}

absl::Status Model::AddLayer(const proto::LayerSpec& spec, const NodesByName& nodes,
                             std::vector<int> inputs) {
  Node node{.inputs = std::move(inputs)};
  CAIRN_ASSIGN_OR_RETURN(node.layer, CreateOn(spec, nodes_, node.inputs, create_layer_));
  const absl::StatusOr<int64_t> elements = CheckedElementCount(node.layer->output().shape);
  if (!elements.ok()) {
    return LayerError(spec, absl::StrCat("output's ", std::string(elements.status().message())));
  }
  if (!node.layer->activity_regularizer().empty() && node.layer->output().type != proto::FLOAT32) {
    return LayerError(spec, "an activity regularizer needs an output of float32");
  }
  absl::Status status = AddVariables(spec, nodes, &node);
  if (status.ok()) status = ConnectMasks(&node);
  if (!status.ok()) return LayerError(spec, std::string(status.message()));
  nodes_.push_back(std::move(node));
  return absl::OkStatus();
}

absl::Status Model::AddVariables(const proto::LayerSpec& spec, const NodesByName& nodes,
                                 Node* node) {
  if (!spec.shares().empty()) return ShareVariables(spec, nodes, node);
  node->first_variable = static_cast<int>(variables_.size());
  for (const LayerVariable& variable : node->layer->variables()) {
    CAIRN_RETURN_IF_ERROR(CheckInitializer(variable.spec));
    variables_.push_back(variable.spec);
  }
  return absl::OkStatus();
}

absl::Status Model::ShareVariables(const proto::LayerSpec& spec, const NodesByName& nodes,
                                   Node* node) const {
  const auto owner = nodes.find(spec.shares());
  if (owner == nodes.end()) {
    return absl::InvalidArgumentError(absl::StrCat("shares the variables of '", spec.shares(),
                                                   "', which is not a layer before it"));
  }
  node->owner = owner->second;
  node->first_variable = nodes_[node->owner].first_variable;
  const std::vector<LayerVariable>& owned = nodes_[node->owner].layer->variables();
  const std::vector<LayerVariable>& used = node->layer->variables();
  bool is_same = owned.size() == used.size();
  for (size_t i = 0; is_same && i < owned.size(); ++i) {
    is_same = owned[i].spec.shape == used[i].spec.shape;
  }
  if (is_same) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "its variables have other shapes in this call than in the call '", spec.shares(), "'"));
}

// Sets the weights of the calls of all layers with moving averages, and the averages' momentum.
void Model::WeighStatistics() {
  const auto moving = [](const Node& node) -> const VariableSpec* {
    for (const LayerVariable& variable : node.layer->variables()) {
      if (variable.spec.update == VariableSpec::Update::kMovingAverage) return &variable.spec;
    }
    return nullptr;
  };
  std::map<int, std::vector<Node*>> calls;  // That take a statistic, by the owner.
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    if (moving(node) != nullptr) {
      calls[node.owner < 0 ? static_cast<int>(i) : node.owner].push_back(&node);
    } else {
      node.statistic_weight = 0;
    }
  }
  for (const auto& [owner, nodes] : calls) {
    const double momentum = moving(*nodes[0])->momentum;
    const auto count = static_cast<int64_t>(nodes.size());
    for (int64_t i = 0; i < count; ++i) {
      nodes[i]->statistic_weight = WeightOfCall(momentum, count, i);
    }
    // The first call may be one that uses the moving averages.
    const std::vector<LayerVariable>& variables = nodes[0]->layer->variables();
    for (size_t v = 0; v < variables.size(); ++v) {
      if (variables[v].spec.update != VariableSpec::Update::kMovingAverage) continue;
      VariableSpec& variable = variables_[nodes[0]->first_variable + v];
      variable.update = VariableSpec::Update::kMovingAverage;
      variable.momentum = std::pow(momentum, static_cast<double>(count));
    }
  }
}

// Connects the masks of the node's inputs and appends the mask of its output to masks_.
absl::Status Model::ConnectMasks(Node* node) {
  const Layer& layer = *node->layer;
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    const std::vector<int>& masks = layer.removes_masks() ? masks_left_ : masks_;
    const int mask = layer.is_sequence(static_cast<int>(i)) ? masks[node->inputs[i]] : -1;
    if (mask == kUnknownMask) {
      return absl::InvalidArgumentError(
          "its input joins sequences, from one of which another MultiHeadAttention has removed the "
          "mask (in Keras 3); that is not supported");
    }
    if (mask >= 0 && layer.refuses_mask()) {
      return absl::InvalidArgumentError(
          absl::StrCat("its input has the mask of layer '", nodes_[mask].layer->name(),
                       "', and masked steps are not supported in this layer"));
    }
    if (!layer.uses_mask()) continue;
    node->masks.push_back(mask);
    if (mask >= 0) {
      CAIRN_RETURN_IF_ERROR(CheckMask(nodes_[mask], "input", layer.inputs()[i].shape));
    }
  }
  int made = -1;
  if (layer.makes_mask()) {
    node->writes_mask = layer.computes_mask();
    made = node->writes_mask ? static_cast<int>(nodes_.size()) : node->inputs[0];
  } else if (layer.mask_merge() != Layer::MaskMerge::kNone) {
    CAIRN_ASSIGN_OR_RETURN(made, MergeMasks(node));
  } else if (layer.passes_mask() && !node->inputs.empty()) {
    made = masks_[node->inputs[0]];
  }
  masks_.push_back(made);
  masks_left_.push_back(MaskLeft(*node, made));
  for (size_t i = 0; layer.removes_masks() && i < node->inputs.size(); ++i) {
    if (layer.is_sequence(static_cast<int>(i))) masks_left_[node->inputs[i]] = -1;
  }
  return absl::OkStatus();
}

// What is left of the node's mask `mask`.
int Model::MaskLeft(const Node& node, int mask) const {
  const Layer& layer = *node.layer;
  if (mask < 0 || layer.makes_mask()) return mask;
  if (layer.mask_merge() == Layer::MaskMerge::kNone) return masks_left_[node.inputs[0]];
  bool is_whole = true, has_one = false;
  for (const int input : node.inputs) {
    if (masks_left_[input] == kUnknownMask) return kUnknownMask;
    is_whole &= masks_left_[input] == masks_[input];
    has_one |= masks_left_[input] >= 0;
  }
  if (is_whole) return mask;
  return has_one && layer.mask_merge() == Layer::MaskMerge::kJoin ? kUnknownMask : -1;
}

absl::StatusOr<int> Model::MergeMasks(Node* node) const {
  const Layer& layer = *node->layer;
  const bool joins = layer.mask_merge() == Layer::MaskMerge::kJoin;
  std::vector<int> masks;
  for (const int input : node->inputs) masks.push_back(masks_[input]);
  const auto missing = std::count(masks.begin(), masks.end(), -1);
  const bool has_one = missing < static_cast<int64_t>(masks.size());
  if (!has_one) return -1;
  // Equal masks need no union.
  const bool is_same =
      std::count(masks.begin(), masks.end(), masks[0]) == static_cast<int64_t>(masks.size());
  if (!joins && is_same) return masks[0];
  if (layer.mask_merge() == Layer::MaskMerge::kEqual) {
    return absl::InvalidArgumentError(
        "its inputs have different masks, or only some have one; Keras then leaves the masked "
        "steps of an input out, which is not supported in this layer (Add, Subtract, Average and "
        "Concatenate take them)");
  }
  if (!joins && missing > 0) return -1;
  for (size_t i = 0; i < masks.size(); ++i) {
    if (masks[i] < 0) continue;
    const Shape& shape = joins ? layer.inputs()[i].shape : layer.output().shape;
    CAIRN_RETURN_IF_ERROR(CheckMask(nodes_[masks[i]], joins ? "input" : "output", shape));
  }
  node->masks = std::move(masks);
  node->writes_mask = true;
  return static_cast<int>(nodes_.size());
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

absl::Status Model::AddOutputs(const proto::ModelSpec& spec, const NodesByName& nodes) {
  if (spec.outputs().empty()) return absl::InvalidArgumentError("the model has no outputs");
  for (const std::string& name : spec.outputs()) {
    CAIRN_ASSIGN_OR_RETURN(const int node, FindNode(name, nodes));
    const TensorSpec& output = nodes_[node].layer->output();
    if (output.type != proto::FLOAT32) {
      return absl::InvalidArgumentError(
          absl::StrCat("the model's output '", name, "' is not float32"));
    }
    if (!OutputsOf(*nodes_[node].layer).empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the model's output '", name, "' has several outputs (return_state); name one of them"));
    }
    if (masks_[node] >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the model's output '", name,
          "' has a mask (of mask_zero or Masking); a loss with masked steps is not supported"));
    }
    outputs_.push_back({name, output.shape, node});
  }
  return absl::OkStatus();
}

absl::Status Model::ExpectAllUsed() const {
  std::vector<bool> is_used(nodes_.size(), false);
  for (const Output& output : outputs_) is_used[output.node] = true;
  for (int i = static_cast<int>(nodes_.size()) - 1; i >= 0; --i) {
    const bool is_input = nodes_[i].inputs.empty();
    if (!is_used[i] && !is_input) {
      return absl::InvalidArgumentError(absl::StrCat("layer '", nodes_[i].layer->name(),
                                                     "' does not lead to an output of the model"));
    }
    for (int input : nodes_[i].inputs) is_used[input] = true;
  }
  return absl::OkStatus();
}

}  // namespace cairn::nn

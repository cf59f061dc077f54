#include "nn/formats/keras_config.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/status_macros.h"
#include "nn/activation.h"
#include "nn/formats/json_text.h"
#include "nn/formats/struct_json.h"
#include "nn/layers/input.h"
#include "nn/layers/layer_output.h"
#include "nn/layers/recurrent.h"

namespace cairn::nn {
namespace {

using nlohmann::json;

// Arguments of an attention's call, which the layer has here.
constexpr const char* kFlags[] = {"use_causal_mask", "attention_mask", "return_attention_scores"};

// Arguments that only Keras 2 writes, and that do not change the result here.
bool IsOfKeras2(const std::string& class_name, const std::string& argument) {
  static constexpr const char* kEverywhere[] = {
      "implementation",  "time_major",      "use_cudnn",          "renorm",
      "renorm_clipping", "renorm_momentum", "virtual_batch_size", "adjustment",
      "fused",           "input_length",    "batch_input_shape",  "input_dtype"};
  for (const char* each : kEverywhere) {
    if (argument == each) return true;
  }
  const bool is_depthwise = absl::StartsWith(class_name, "Depthwise");
  const bool is_separable = absl::StartsWith(class_name, "Separable");
  if (argument == "filters" || argument == "groups") return is_depthwise;
  if (argument == "kernel_initializer" || argument == "kernel_regularizer" ||
      argument == "kernel_constraint") {
    return is_depthwise || is_separable;
  }
  return argument == "sparse" && class_name == "Embedding";
}

const char* ModuleOf(const std::string& class_name) {
  if (!FindOperation(class_name).has_value()) return "keras.layers";
  return class_name == "Erf" ? "keras.src.ops.math" : "keras.src.ops.numpy";
}

json LayerObject(const std::string& class_name, json config) {
  return {{"module", ModuleOf(class_name)},
          {"class_name", class_name},
          {"config", std::move(config)},
          {"registered_name", nullptr}};
}

absl::Status Translate(const proto::LayerSpec& layer, const std::string& class_name, json* config) {
  for (auto argument = config->begin(); argument != config->end();) {
    argument = IsOfKeras2(class_name, argument.key()) ? config->erase(argument) : ++argument;
  }
  for (auto& [argument, value] : config->items()) {
    if (value == "hard_sigmoid_keras2") {
      return absl::InvalidArgumentError(absl::StrCat(
          "layer '", layer.name(), "' (", layer.class_name(),
          "): Keras 3 has no hard_sigmoid of Keras 2, so the exported model would compute "
          "something else"));
    }
    const bool is_activation = absl::EndsWith(argument, "activation");
    if (is_activation && (value == "erf" || value == "floor")) {
      return absl::InvalidArgumentError(
          absl::StrCat("layer '", layer.name(), "' (", layer.class_name(),
                       "): Keras has no activation '", value.get<std::string>(), "'; a layer ",
                       value == "erf" ? "Erf" : "Floor", " computes it"));
    }
    const bool is_layer =
        (argument == "layer" || argument == "backward_layer" || argument == "cell") &&
        value.is_object() && value["config"].is_object();
    if (!is_layer) continue;
    const std::string wrapped = value.value("class_name", "");
    CAIRN_RETURN_IF_ERROR(Translate(layer, wrapped, &value["config"]));
    if (!value["config"].contains("name")) value["config"]["name"] = argument;
    value = LayerObject(wrapped, value["config"]);
  }
  // Keras's layers of ids have no others.
  const bool has_ids = class_name == "Hashing" || class_name == "IntegerLookup";
  if (!FindOperation(class_name)) (*config)["dtype"] = has_ids ? "int64" : "float32";
  return absl::OkStatus();
}

class Config {
 public:
  Config(const proto::ModelSpec& spec, const Model& model) : spec_(spec), model_(model) {}

  absl::StatusOr<KerasConfig> Write() {
    NameLayers();
    const bool is_chain = IsChain();
    json config = {{"name", spec_.name()}, {"trainable", true}, {"layers", json::array()}};
    for (int i = 0; i < spec_.layers_size(); ++i) {
      if (model_.nodes()[i].owner >= 0 || IsOutput(i)) continue;
      CAIRN_ASSIGN_OR_RETURN(json layer, LayerAt(i));
      if (!is_chain) {
        layer["name"] = names_[i];
        layer["inbound_nodes"] = json::array();
        for (const int call : calls_[i]) {
          if (spec_.layers(call).inputs().empty()) continue;
          CAIRN_ASSIGN_OR_RETURN(json written_call, Call(call));
          layer["inbound_nodes"].push_back(std::move(written_call));
        }
      }
      config["layers"].push_back(std::move(layer));
    }
    if (!is_chain) {
      for (const int node : model_.input_nodes()) {
        config["input_layers"].push_back(json::array({names_[node], 0, 0}));
      }
      for (const Model::Output& output : model_.outputs()) {
        config["output_layers"].push_back(Connection(output.node));
      }
    }
    KerasConfig written;
    written.json = PrintJson({{"module", is_chain ? "keras" : "keras.src.models.functional"},
                              {"class_name", is_chain ? "Sequential" : "Functional"},
                              {"config", std::move(config)},
                              {"registered_name", is_chain ? json() : json("Functional")}});
    written.layers = is_chain ? ChainOrder() : GraphOrder();
    return written;
  }

 private:
  bool IsOutput(int node) const { return spec_.layers(node).class_name() == kLayerOutput; }
  // The node of the layer that computes the output of `node`.
  int Computing(int node) const { return IsOutput(node) ? model_.nodes()[node].inputs[0] : node; }

  int Owner(int node) const {
    return model_.nodes()[node].owner >= 0 ? model_.nodes()[node].owner : node;
  }

  // The name of a layer of a nested model has a slash, which Keras 3 does not allow.
  void NameLayers() {
    std::set<std::string> taken;
    for (const proto::LayerSpec& layer : spec_.layers()) taken.insert(layer.name());
    for (int i = 0; i < spec_.layers_size(); ++i) {
      std::string name = spec_.layers(i).name();
      if (absl::StrContains(name, '/')) {
        name = absl::StrReplaceAll(name, {{"/", "_"}});
        while (!taken.insert(name).second) name += "_";
      }
      names_.push_back(name);
      if (!IsOutput(i)) calls_[Owner(i)].push_back(i);
    }
  }

  // In a Sequential model each layer is called once, without arguments. Keras's operations are no
  // layers there.
  bool IsChain() const {
    bool is_chain = spec_.sequential();
    for (const proto::LayerSpec& layer : spec_.layers()) {
      is_chain = is_chain && layer.shares().empty() && !layer.infers() &&
                 layer.class_name() != "MultiHeadAttention" &&
                 !FindOperation(layer.class_name()).has_value();
    }
    return is_chain;
  }

  absl::StatusOr<json> LayerAt(int node) const {
    const proto::LayerSpec& layer = spec_.layers(node);
    json config = json::object();
    for (const auto& [argument, value] : layer.config().fields()) {
      config[argument] = JsonFromValue(value);
    }
    const json dtype = config.value("dtype", json());
    CAIRN_RETURN_IF_ERROR(Translate(layer, layer.class_name(), &config));
    if (layer.class_name() == "InputLayer") config["dtype"] = dtype;
    // Arguments of the call.
    for (const char* const flag : kFlags) config.erase(flag);
    config.erase("ignores_mask");
    const std::vector<int>& masks = model_.nodes()[node].masks;
    if (config.value("reverses_mask", false) && !masks.empty() && masks[0] >= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("layer '", layer.name(), "' (", layer.class_name(),
                       "): it was a cell of a stack that goes backwards over masked steps; the "
                       "export has a layer "
                       "for each cell, and Keras would mask other steps in it"));
    }
    config.erase("reverses_mask");
    config["name"] = names_[node];
    return LayerObject(layer.class_name(), std::move(config));
  }

  // A call's output: [LAYER, CALL, OUTPUT].
  json Connection(int node) const {
    const int computing = Computing(node);
    const std::vector<int>& calls = calls_.at(Owner(computing));
    const auto call = std::find(calls.begin(), calls.end(), computing) - calls.begin();
    const int64_t output =
        IsOutput(node) ? static_cast<const LayerOutputLayer&>(*model_.nodes()[node].layer).index()
                       : 0;
    return json::array({names_[Owner(computing)], call, output});
  }

  json Tensor(int node) const {
    const Layer& layer = *model_.nodes()[node].layer;
    const TensorSpec& output = layer.output();
    json shape = json::array({nullptr});
    for (const int64_t size : output.shape) shape.push_back(size);
    return {{"class_name", "__keras_tensor__"},
            {"config",
             {{"shape", shape},
              {"dtype", IsText(layer) ? "string" : "float32"},
              {"keras_history", Connection(node)}}}};
  }

  absl::StatusOr<json> Call(int node) const {
    const proto::LayerSpec& layer = spec_.layers(node);
    json tensors = json::array();
    for (const int input : model_.nodes()[node].inputs) tensors.push_back(Tensor(input));
    json arguments = json::object();
    const auto* const recurrent =
        dynamic_cast<const RecurrentLayer*>(model_.nodes()[node].layer.get());
    if (recurrent != nullptr && recurrent->has_initial_states()) {
      json& states = arguments["initial_state"] = json::array();
      for (size_t i = 1; i < tensors.size(); ++i) states.push_back(tensors[i]);
      tensors.erase(tensors.begin() + 1, tensors.end());
    }
    if (layer.infers()) arguments["training"] = false;
    const auto& fields = layer.config().fields();
    for (const std::string flag : kFlags) {
      const auto given = fields.find(flag);
      if (given == fields.end() || !given->second.bool_value()) continue;
      arguments[flag] = true;
      if (flag != "attention_mask") continue;
      arguments[flag] = tensors.back();
      tensors.erase(tensors.end() - 1);
    }
    // Attention takes its tensors as arguments, layers that merge take one list.
    const bool is_list = tensors.size() > 1 && layer.class_name() != "MultiHeadAttention";
    return json{{"args", is_list ? json::array({tensors}) : tensors}, {"kwargs", arguments}};
  }

  std::vector<int> ChainOrder() const {
    std::vector<int> order;
    for (int i = 0; i < spec_.layers_size(); ++i) order.push_back(i);
    return order;
  }

  // Keras's map_graph (keras/src/ops/function.py): layers by their depth, which is the longest way
  // to an output; those of one depth in the order in which a search from the outputs meets them.
  std::vector<int> GraphOrder() {
    for (const Model::Output& output : model_.outputs()) Search(Computing(output.node));
    std::map<int, int> node_depths;
    std::map<int, int> depths;  // By layer.
    for (auto node = finished_.rbegin(); node != finished_.rend(); ++node) {
      int& depth = depths[Owner(*node)];
      depth = std::max(depth, node_depths[*node]);
      node_depths[*node] = depth;
      for (const int input : model_.nodes()[*node].inputs) {
        int& input_depth = node_depths[Computing(input)];
        input_depth = std::max(input_depth, depth + 1);
      }
    }
    std::vector<int> order;
    for (const auto& [layer, depth] : depths) order.push_back(layer);
    std::sort(order.begin(), order.end(), [&](int a, int b) {
      return std::make_pair(-depths[a], met_[a]) < std::make_pair(-depths[b], met_[b]);
    });
    return order;
  }

  void Search(int node) {
    if (!searched_.insert(node).second) return;
    met_.emplace(Owner(node), met_.size());
    for (const int input : model_.nodes()[node].inputs) Search(Computing(input));
    finished_.push_back(node);
  }

  const proto::ModelSpec& spec_;
  const Model& model_;
  std::vector<std::string> names_;         // By layer of the spec.
  std::map<int, std::vector<int>> calls_;  // By layer: its calls.
  // Of the search: the nodes that were begun, when each layer was met, the nodes behind all of
  // their inputs.
  std::set<int> searched_;
  std::map<int, size_t> met_;
  std::vector<int> finished_;
};

}  // namespace

absl::StatusOr<KerasConfig> WriteKerasConfig(const proto::ModelSpec& spec, const Model& model) {
  return Config(spec, model).Write();
}

}  // namespace cairn::nn

#include "nn/formats/called_layers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/layers/layer_output.h"

namespace cairn::nn {
namespace {

bool IsInput(const proto::LayerSpec& layer) { return layer.class_name() == "InputLayer"; }

bool IsTrue(const google::protobuf::Struct& config, const char* argument) {
  const auto found = config.fields().find(argument);
  return found != config.fields().end() && found->second.bool_value();
}

// The classes of RecurrentLayer.
bool IsRecurrent(const proto::LayerSpec& layer) {
  static constexpr const char* kClasses[] = {"SimpleRNN", "LSTM", "GRU", "RNN", "Bidirectional"};
  return std::find(std::begin(kClasses), std::end(kClasses), layer.class_name()) !=
         std::end(kClasses);
}

std::string OutputName(const std::string& layer, int64_t output) {
  return absl::StrCat(layer, ".", output);
}

class Expansion {
 public:
  Expansion(const std::vector<CalledLayer>& layers, const std::vector<TensorName>& outputs)
      : layers_(layers), outputs_(outputs) {}

  absl::Status Run(proto::ModelSpec* spec) {
    NumberCalls();
    for (const CalledLayer& layer : layers_) CAIRN_RETURN_IF_ERROR(NameCalls(layer));
    for (const CalledLayer& layer : layers_) {
      for (size_t call = 0; call < layer.calls.size(); ++call) {
        CAIRN_RETURN_IF_ERROR(AddCall(layer, call, spec));
      }
    }
    for (const TensorName& output : outputs_) {
      CAIRN_ASSIGN_OR_RETURN(const std::string name, Resolve(output, "output_layers"));
      spec->add_outputs(name);
    }
    for (auto& [name, layer] : layer_outputs_) *spec->add_layers() = std::move(layer);
    DropUnusedOutputs(spec);
    return absl::OkStatus();
  }

 private:
  using Tensor = std::tuple<std::string, int64_t, int64_t>;

  // Determines the index of each layer's first call. Keras counts calls of a functional model from
  // 1, because building the model counts as a call, and all others from 0. A model is counted from
  // 1 if the largest call index that refers to it equals its number of calls.
  void NumberCalls() {
    std::map<std::string, int64_t> last;
    const auto see = [&last](const TensorName& tensor) {
      last[tensor.layer] = std::max(last[tensor.layer], tensor.call);
    };
    for (const CalledLayer& layer : layers_) {
      for (const LayerCall& call : layer.calls) {
        std::for_each(call.inputs.begin(), call.inputs.end(), see);
      }
    }
    std::for_each(outputs_.begin(), outputs_.end(), see);
    for (const CalledLayer& layer : layers_) {
      const bool from_one =
          layer.is_model && last[layer.name] == static_cast<int64_t>(layer.calls.size());
      first_call_[layer.name] = from_one ? 1 : 0;
      taken_.insert(layer.name);
    }
  }

  // Assigns names to the layer's calls and to the layers inside it, and records which layer
  // computes each tensor.
  absl::Status NameCalls(const CalledLayer& layer) {
    std::map<std::string, std::string>& names = names_[layer.name];
    for (const proto::LayerSpec& inner : layer.body.layers()) {
      if (!layer.is_model) {
        names[inner.name()] = layer.name;
        if (ReturnsStates(inner)) with_states_.insert(layer.name);
      } else if (inner.class_name() == kLayerOutput) {
        // Its layer may have another name here; it is before it.
        names[inner.name()] = OutputName(names[inner.inputs(0)], IndexOf(inner));
      } else if (!IsInput(inner)) {
        const bool is_free = taken_.insert(inner.name()).second;
        names[inner.name()] = is_free ? inner.name() : absl::StrCat(layer.name, "/", inner.name());
      }
    }
    for (size_t call = 0; call < layer.calls.size(); ++call) {
      for (int output = 0; output < layer.body.outputs_size(); ++output) {
        const Tensor tensor = {layer.name, first_call_[layer.name] + call, output};
        const auto name = names.find(layer.body.outputs(output));
        if (name == names.end()) {
          return absl::InvalidArgumentError(absl::StrCat(layer.place, ": model '", layer.name,
                                                         "' has an output that is its input"));
        }
        made_[tensor] = NameOfCall(name->second, call);
      }
    }
    return absl::OkStatus();
  }

  static std::string NameOfCall(const std::string& name, size_t call) {
    return call == 0 ? name : absl::StrCat(name, ":", call);
  }

  static int64_t IndexOf(const proto::LayerSpec& layer_output) {
    return static_cast<int64_t>(layer_output.config().fields().at("output").number_value());
  }

  // A called model has a LayerOutput for each of its outputs, whether or not this model uses it.
  static void DropUnusedOutputs(proto::ModelSpec* spec) {
    std::set<std::string> used(spec->outputs().begin(), spec->outputs().end());
    for (const proto::LayerSpec& layer : spec->layers()) {
      used.insert(layer.inputs().begin(), layer.inputs().end());
    }
    auto& layers = *spec->mutable_layers();
    const auto end = std::remove_if(layers.begin(), layers.end(), [&](const auto& layer) {
      return layer.class_name() == kLayerOutput && used.count(layer.name()) == 0;
    });
    layers.erase(end, layers.end());
  }

  // The name of the layer that computes a tensor. Adds a LayerOutput if it needs one; the model
  // checks its number.
  absl::StatusOr<std::string> Resolve(const TensorName& tensor, const std::string& place) {
    if (with_states_.count(tensor.layer) > 0) {
      CAIRN_ASSIGN_OR_RETURN(const std::string layer, Find({tensor.layer, tensor.call}, place));
      proto::LayerSpec& output = layer_outputs_[OutputName(layer, tensor.output)];
      output.set_name(OutputName(layer, tensor.output));
      output.set_class_name(kLayerOutput);
      (*output.mutable_config()->mutable_fields())["output"].set_number_value(
          static_cast<double>(tensor.output));
      output.mutable_inputs()->Assign(&layer, &layer + 1);
      return output.name();
    }
    return Find(tensor, place);
  }

  absl::StatusOr<std::string> Find(const TensorName& tensor, const std::string& place) const {
    const auto found = made_.find({tensor.layer, tensor.call, tensor.output});
    if (found != made_.end()) return found->second;
    if (names_.count(tensor.layer) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": there is no layer '", tensor.layer, "'"));
    }
    return absl::InvalidArgumentError(absl::StrCat(place, ": layer '", tensor.layer,
                                                   "' has no output ", tensor.output, " of call ",
                                                   tensor.call));
  }

  absl::Status AddCall(const CalledLayer& layer, size_t call, proto::ModelSpec* spec) {
    std::vector<std::string> inputs;
    for (const TensorName& tensor : layer.calls[call].inputs) {
      CAIRN_ASSIGN_OR_RETURN(inputs.emplace_back(), Resolve(tensor, layer.place));
    }
    // Maps the model's InputLayers to the tensors of the call.
    std::map<std::string, std::string> given;
    if (layer.is_model) {
      if (static_cast<int>(inputs.size()) != layer.body.inputs_size()) {
        return absl::InvalidArgumentError(absl::StrCat(layer.place, ": model '", layer.name,
                                                       "' takes ", layer.body.inputs_size(),
                                                       " inputs, is called with ", inputs.size()));
      }
      for (size_t i = 0; i < inputs.size(); ++i) given[layer.body.inputs(i)] = inputs[i];
    }
    const std::map<std::string, std::string>& names = names_[layer.name];
    for (const proto::LayerSpec& inner : layer.body.layers()) {
      if (layer.is_model && IsInput(inner)) continue;
      proto::LayerSpec& added = *spec->add_layers();
      added = inner;
      const std::string& owner = inner.shares().empty() ? inner.name() : inner.shares();
      added.set_name(NameOfCall(names.at(inner.name()), call));
      const bool shares = call > 0 || !inner.shares().empty();
      added.set_shares(shares && inner.class_name() != kLayerOutput ? names.at(owner) : "");
      added.set_infers(inner.infers() || layer.calls[call].inference_only);
      auto& config = *added.mutable_config()->mutable_fields();
      for (const std::string& flag : layer.calls[call].flags) config[flag].set_bool_value(true);
      if (layer.calls[call].ignores_mask && !layer.is_model && IsRecurrent(inner)) {
        config["ignores_mask"].set_bool_value(true);
      }
      if (!layer.is_model) added.mutable_inputs()->Assign(inputs.begin(), inputs.end());
      for (std::string& input : *added.mutable_inputs()) {
        if (!layer.is_model) break;
        const auto outer = given.find(input);
        input = outer != given.end() ? outer->second : NameOfCall(names.at(input), call);
      }
    }
    return absl::OkStatus();
  }

  const std::vector<CalledLayer>& layers_;
  const std::vector<TensorName>& outputs_;
  std::set<std::string> taken_;
  std::map<std::string, int64_t> first_call_;
  // By layer: the names inside it, mapped to the names in the first call's expansion.
  std::map<std::string, std::map<std::string, std::string>> names_;
  // The layer of the expansion that computes a tensor.
  std::map<Tensor, std::string> made_;
  // The layers that have several outputs.
  std::set<std::string> with_states_;
  // By name: the LayerOutputs that are used.
  std::map<std::string, proto::LayerSpec> layer_outputs_;
};

}  // namespace

bool ReturnsStates(const proto::LayerSpec& layer) {
  if (IsTrue(layer.config(), "return_state")) return true;
  const auto wrapped = layer.config().fields().find("layer");
  if (layer.class_name() != "Bidirectional" || wrapped == layer.config().fields().end()) {
    return false;
  }
  const auto& fields = wrapped->second.struct_value().fields();
  const auto config = fields.find("config");
  return config != fields.end() && IsTrue(config->second.struct_value(), "return_state");
}

absl::Status ExpandCalls(const std::vector<CalledLayer>& layers,
                         const std::vector<TensorName>& outputs, proto::ModelSpec* spec) {
  return Expansion(layers, outputs).Run(spec);
}

}  // namespace cairn::nn

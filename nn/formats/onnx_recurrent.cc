#include "nn/formats/onnx_recurrent.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/layers/layer_output.h"

namespace cairn::nn {
namespace {

absl::Status Error(const std::string& reason) { return absl::InvalidArgumentError(reason); }

// What the operator is.
struct Recurrence {
  const char* class_name = "SimpleRNN";
  int gates = 1;
  // By gate of Keras: that of ONNX.
  std::vector<int> order = {0};
  int64_t units = 0;
  int64_t inputs = 0;
  int64_t steps = 0;
  int directions = 1;
  bool goes_backwards = false;
  bool resets_after = false;
  bool use_bias = false;

  int64_t width() const { return gates * units; }
};

// Keras's name of an activation; empty if it has none, or not with these parameters.
std::string ActivationName(const std::string& name, float alpha, float beta) {
  const std::string lower = absl::AsciiStrToLower(name);
  if (lower == "hardsigmoid") {
    if (beta != 0.5f) return "";
    if (std::abs(alpha - 0.2f) < 1e-6f) return "hard_sigmoid_keras2";
    return std::abs(alpha - 1.0f / 6) < 1e-6f ? "hard_sigmoid" : "";
  }
  for (const char* known : {"sigmoid", "tanh", "relu", "softsign", "softplus"}) {
    if (lower == known) return lower;
  }
  return lower == "elu" && alpha == 1 ? lower : "";
}

// Reads the activations of one direction into the arguments.
absl::Status ReadActivations(const OnnxCall& call, const Recurrence& cell, int direction,
                             OnnxArguments* arguments) {
  const bool is_simple = cell.gates == 1;
  const size_t each = is_simple ? 1 : cell.gates == 3 ? 2 : 3;
  std::vector<std::string> names = call.node.Texts("activations");
  std::vector<float> alphas = call.node.Floats("activation_alpha");
  std::vector<float> betas = call.node.Floats("activation_beta");
  if (names.empty()) {
    for (int i = 0; i < cell.directions; ++i) {
      if (!is_simple) names.emplace_back("Sigmoid");
      names.emplace_back("Tanh");
      if (each == 3) names.emplace_back("Tanh");
    }
  }
  if (names.size() != each * cell.directions) {
    return Error(absl::StrCat("has ", names.size(), " activations"));
  }
  std::vector<std::string> own;
  for (size_t i = each * direction; i < each * (direction + 1); ++i) {
    const bool is_hard = absl::AsciiStrToLower(names[i]) == "hardsigmoid";
    const float alpha = i < alphas.size() ? alphas[i] : is_hard ? 0.2f : 1.0f;
    const float beta = i < betas.size() ? betas[i] : 0.5f;
    own.push_back(ActivationName(names[i], alpha, beta));
    if (own.back().empty()) {
      return Error(absl::StrCat("has the activation ", names[i],
                                " with these parameters, which a recurrent layer does not have"));
    }
  }
  if (each == 3 && own[1] != own[2]) {
    return Error("has different activations for the cell and for the output");
  }
  arguments->Text("activation", is_simple ? own[0] : own[1]);
  if (!is_simple) arguments->Text("recurrent_activation", own[0]);
  return absl::OkStatus();
}

absl::StatusOr<Recurrence> ReadCell(const OnnxCall& call, const OnnxValue& x) {
  Recurrence cell;
  if (call.node.op() == "LSTM") cell = {.class_name = "LSTM", .gates = 4, .order = {0, 2, 3, 1}};
  if (call.node.op() == "GRU") cell = {.class_name = "GRU", .gates = 3, .order = {0, 1, 2}};
  if (x.rank() != 3) return Error("takes an input that is not (steps, batch, elements)");
  if (call.node.Int("layout", 0) != 0) return Error("has the batch first (layout 1)");
  if (call.node.Has("clip")) return Error("attribute 'clip' is not supported");
  if (call.node.Int("input_forget", 0) != 0) return Error("couples its input and forget gates");
  if (!x.IsBatch(1)) {
    return Error(
        "takes an input whose axis 1 is not the batch; if the model takes (steps, batch, "
        "elements), "
        "export it with an open batch: in PyTorch dynamic_axes={'x': {1: 'batch'}}");
  }
  cell.steps = x.AxisSize(0);
  cell.inputs = x.AxisSize(2);
  const std::string direction = call.node.Text("direction", "forward");
  cell.directions = direction == "bidirectional" ? 2 : 1;
  cell.goes_backwards = direction == "reverse";
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const kernel, call.Constant(1));
  CAIRN_ASSIGN_OR_RETURN(const OnnxConstant* const recurrent, call.Constant(2));
  if (recurrent->shape.size() != 3) return Error("has recurrent weights without 3 axes");
  cell.units = recurrent->shape[2];
  if (call.node.Int("hidden_size", cell.units) != cell.units || cell.units < 1 ||
      cell.units > kTensorElementsMax) {
    return Error("has recurrent weights that are not of its hidden_size");
  }
  const Shape wanted = {cell.directions, cell.width(), cell.inputs};
  const Shape wanted_recurrent = {cell.directions, cell.width(), cell.units};
  if (kernel->shape != wanted || recurrent->shape != wanted_recurrent) {
    return Error(absl::StrCat("has weights of the shapes ", ShapeText(kernel->shape), " and ",
                              ShapeText(recurrent->shape), ", not ", ShapeText(wanted), " and ",
                              ShapeText(wanted_recurrent)));
  }
  cell.resets_after = call.node.Int("linear_before_reset", 0) != 0;
  if (const OnnxConstant* const bias = call.ConstantOrNull(3)) {
    cell.use_bias = true;
    if (bias->shape != Shape{cell.directions, 2 * cell.width()}) return Error("has a wrong bias");
  }
  // Lengths of sequences, states, and peepholes.
  for (size_t i = 4; i < call.values.size(); ++i) {
    const OnnxConstant* const given = call.ConstantOrNull(i);
    const bool is_state = i == 5 || i == 6;
    if (is_state ? given == nullptr || given->is_zero() : given == nullptr && !call.HasValue(i)) {
      continue;
    }
    return Error(absl::StrCat("has input ", i,
                              ", which is not supported: initial states must be zero or computed, "
                              "sequences have one length"));
  }
  return cell;
}

// The layers of the initial states; none if they are zero.
absl::StatusOr<std::vector<int>> ReadInitialStates(const OnnxCall& call, const Recurrence& cell) {
  std::vector<int> states;
  const size_t count = cell.gates == 4 ? 2 : 1;
  for (size_t i = 5; i < 5 + count; ++i) {
    if (!call.HasValue(i)) continue;
    const OnnxValue& state = *call.values[i];
    if (cell.directions == 2) {
      return Error("has both directions and initial states; write one node for each direction");
    }
    if (state.rank() != 3 || state.AxisSize(0) != 1 || !state.IsBatch(1)) {
      return Error("has an initial state that is not (1, batch, units)");
    }
    CAIRN_ASSIGN_OR_RETURN(states.emplace_back(), call.layers->Arranged(state, {state.axes[2]}));
  }
  if (!states.empty() && states.size() != count) {
    return Error("has one initial state of the two of an LSTM");
  }
  return states;
}

// Rows of ONNX's gates (width, columns) as columns of Keras's (columns, width).
std::vector<float> KerasKernel(const float* rows, int64_t columns, const Recurrence& cell) {
  std::vector<float> kernel(cell.width() * columns);
  for (int gate = 0; gate < cell.gates; ++gate) {
    for (int64_t unit = 0; unit < cell.units; ++unit) {
      const float* const row = rows + (cell.order[gate] * cell.units + unit) * columns;
      for (int64_t i = 0; i < columns; ++i) {
        kernel[i * cell.width() + gate * cell.units + unit] = row[i];
      }
    }
  }
  return kernel;
}

// The variables of one direction.
absl::StatusOr<std::vector<OnnxWeight>> ReadWeights(const OnnxCall& call, const Recurrence& cell,
                                                    int direction) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxWeight kernel, call.Weight(1));
  CAIRN_ASSIGN_OR_RETURN(const OnnxWeight recurrent, call.Weight(2));
  const std::string suffix = direction == 0 ? "" : ":backward";
  std::vector<OnnxWeight> weights;
  const int64_t width = cell.width();
  weights.push_back(
      {kernel.source.empty() ? "" : kernel.source + suffix,
       KerasKernel(kernel.values.data() + direction * width * cell.inputs, cell.inputs, cell)});
  weights.push_back(
      {recurrent.source.empty() ? "" : recurrent.source + suffix,
       KerasKernel(recurrent.values.data() + direction * width * cell.units, cell.units, cell)});
  if (!cell.use_bias) return weights;
  CAIRN_ASSIGN_OR_RETURN(const OnnxWeight both, call.Weight(3));
  const float* const own = both.values.data() + direction * 2 * width;
  std::vector<float> bias = KerasKernel(own, 1, cell);
  const std::vector<float> of_state = KerasKernel(own + width, 1, cell);
  // A GRU that resets after the product has both, the others their sum.
  if (cell.resets_after && cell.gates == 3) {
    bias.insert(bias.end(), of_state.begin(), of_state.end());
  } else {
    for (int64_t i = 0; i < width; ++i) bias[i] += of_state[i];
  }
  weights.push_back({both.source.empty() ? "" : both.source + suffix, std::move(bias)});
  return weights;
}

google::protobuf::Value Wrapped(const std::string& class_name, const std::string& name,
                                google::protobuf::Struct config) {
  google::protobuf::Value wrapped;
  (*config.mutable_fields())["name"].set_string_value(name);
  auto& fields = *wrapped.mutable_struct_value()->mutable_fields();
  fields["class_name"].set_string_value(class_name);
  *fields["config"].mutable_struct_value() = std::move(config);
  return wrapped;
}

absl::StatusOr<int> AddBidirectional(OnnxLayers* layers, const std::string& name,
                                     const std::string& class_name, const char* mode,
                                     google::protobuf::Struct forward,
                                     google::protobuf::Struct backward, int input,
                                     std::vector<OnnxWeight> weights) {
  (*backward.mutable_fields())["go_backwards"].set_bool_value(true);
  // "bidirectional.forward_lstm": the names of the layer and of the one in it.
  std::string outer = name;
  std::string inner = absl::AsciiStrToLower(class_name);
  if (const size_t at = name.rfind(".forward_"); at != std::string::npos) {
    inner = name.substr(at + std::string(".forward_").size());
    outer = name.substr(0, at);
  }
  return layers->Add(outer, "Bidirectional",
                     OnnxArguments()
                         .Text("merge_mode", mode)
                         .Set("layer", Wrapped(class_name, inner, std::move(forward)))
                         .Set("backward_layer", Wrapped(class_name, inner, std::move(backward))),
                     {input}, std::move(weights));
}

bool Flag(const OnnxLayers::Entry& entry, const char* name) {
  const auto found = entry.spec.config().fields().find(name);
  return found != entry.spec.config().fields().end() && found->second.bool_value();
}

// A layer's last outputs as ONNX's Y_h or Y_c.
OnnxValue LastOutput(const Recurrence& cell, int layer) {
  return {.layer = layer, .sizes = {cell.directions, cell.units}, .axes = {{1}, {0}, {2}}};
}

// A layer's sequence as ONNX's Y.
OnnxValue Sequence(const Recurrence& cell, int layer) {
  OnnxValue value{.layer = layer, .sizes = {cell.steps, cell.directions, cell.units}};
  value.axes = {{1}, {2}, {0}, {3}};
  if (cell.goes_backwards && cell.steps > 1) value.reversed = 1;
  return value;
}

// ONNX's Y, Y_h and Y_c of a layer that returns its states.
absl::StatusOr<std::vector<OnnxValue>> OutputsWithStates(const OnnxCall& call,
                                                         const Recurrence& cell, int layer,
                                                         bool sequences) {
  const auto output = [&](int number) {
    return call.layers->Add("", kLayerOutput, OnnxArguments().Number("output", number), {layer});
  };
  std::vector<OnnxValue> outputs(3);
  if (sequences) {
    CAIRN_ASSIGN_OR_RETURN(const int sequence, output(0));
    outputs[0] = Sequence(cell, sequence);
  }
  // Keras has h and c of each direction.
  const int states = cell.gates == 4 ? 2 : 1;
  for (int state = 0; state < states; ++state) {
    if (1 + state >= static_cast<int>(call.is_used.size()) || !call.is_used[1 + state]) continue;
    CAIRN_ASSIGN_OR_RETURN(int last, output(1 + state));
    if (cell.directions == 2) {
      CAIRN_ASSIGN_OR_RETURN(const int backward, output(1 + states + state));
      CAIRN_ASSIGN_OR_RETURN(
          last, call.layers->Add("", "Concatenate", OnnxArguments(), {last, backward}));
    }
    outputs[1 + state] = LastOutput(cell, last);
  }
  return outputs;
}

}  // namespace

OnnxOutputs ReadOnnxRecurrent(const OnnxCall& call) {
  CAIRN_ASSIGN_OR_RETURN(const OnnxValue x, call.Value());
  CAIRN_ASSIGN_OR_RETURN(const Recurrence cell, ReadCell(call, x));
  const auto uses = [&](size_t i) { return i < call.is_used.size() && call.is_used[i]; };
  CAIRN_ASSIGN_OR_RETURN(const int input, call.layers->Arranged(x, {x.axes[0], x.axes[2]}));
  std::vector<int> inputs = {input};
  CAIRN_ASSIGN_OR_RETURN(const std::vector<int> initial_states, ReadInitialStates(call, cell));
  inputs.insert(inputs.end(), initial_states.begin(), initial_states.end());
  const bool sequences = uses(0);
  const bool returns_states = uses(2) || (uses(0) && uses(1));
  std::vector<google::protobuf::Struct> configs;
  std::vector<OnnxWeight> weights;
  for (int direction = 0; direction < cell.directions; ++direction) {
    OnnxArguments arguments;
    arguments.Number("units", static_cast<double>(cell.units));
    arguments.Flag("use_bias", cell.use_bias);
    if (sequences) arguments.Flag("return_sequences", true);
    if (returns_states) arguments.Flag("return_state", true);
    if (cell.gates == 3) arguments.Flag("reset_after", cell.resets_after);
    CAIRN_RETURN_IF_ERROR(ReadActivations(call, cell, direction, &arguments));
    CAIRN_ASSIGN_OR_RETURN(auto own, ReadWeights(call, cell, direction));
    for (OnnxWeight& weight : own) weights.push_back(std::move(weight));
    configs.push_back(arguments.fields());
  }
  int layer = -1;
  if (cell.directions == 2) {
    CAIRN_ASSIGN_OR_RETURN(
        layer, AddBidirectional(call.layers, call.LayerName(), cell.class_name, "concat",
                                configs[0], configs[1], input, std::move(weights)));
  } else {
    OnnxArguments arguments;
    for (const auto& [name, value] : configs[0].fields()) arguments.Set(name.c_str(), value);
    if (cell.goes_backwards) arguments.Flag("go_backwards", true);
    CAIRN_ASSIGN_OR_RETURN(layer, call.layers->Add(call.LayerName(), cell.class_name, arguments,
                                                   inputs, std::move(weights)));
  }
  if (returns_states) return OutputsWithStates(call, cell, layer, sequences);
  if (sequences) return std::vector<OnnxValue>{Sequence(cell, layer)};
  return std::vector<OnnxValue>{OnnxValue(), LastOutput(cell, layer)};
}

absl::StatusOr<std::optional<OnnxValue>> MergeOnnxDirections(const OnnxCall& call, const char* mode,
                                                             int axis) {
  if (call.values.size() != 2 || !call.HasValue(0) || !call.HasValue(1)) return std::nullopt;
  const OnnxValue& first = *call.values[0];
  const OnnxValue& second = *call.values[1];
  const OnnxLayers::Entry& forward = call.layers->entry(first.layer);
  const OnnxLayers::Entry& backward = call.layers->entry(second.layer);
  const std::string& name = forward.spec.class_name();
  if ((name != "LSTM" && name != "GRU" && name != "SimpleRNN") ||
      backward.spec.class_name() != name || forward.inputs.size() > 1 ||
      forward.inputs != backward.inputs || Flag(forward, "go_backwards") ||
      !Flag(backward, "go_backwards") || !first.is_exclusive || !second.is_exclusive ||
      first.axes != second.axes || first.sizes != second.sizes || first.layer == second.layer) {
    return std::nullopt;
  }
  const bool sequences = Flag(forward, "return_sequences");
  const int steps_factor = 1;
  const int64_t steps = sequences ? first.FactorSize(steps_factor) : 1;
  if (first.reversed >= 0 || (steps > 1 && second.reversed != steps_factor)) return std::nullopt;
  // They are joined along the units, which are the last factor.
  const auto units = static_cast<int>(first.sizes.size());
  const bool concatenates = std::string_view(mode) == "concat";
  if (units != (sequences ? 3 : 2) ||
      (concatenates && (axis < 0 || first.axes[axis] != std::vector<int>{units}))) {
    return std::nullopt;
  }
  google::protobuf::Struct backward_config = backward.spec.config();
  std::vector<OnnxWeight> weights = forward.weights;
  weights.insert(weights.end(), backward.weights.begin(), backward.weights.end());
  for (const OnnxWeight& weight : weights) {
    CAIRN_RETURN_IF_ERROR(call.budget->Spend(static_cast<int64_t>(weight.values.size())));
  }
  OnnxValue result = first;
  CAIRN_ASSIGN_OR_RETURN(
      result.layer,
      AddBidirectional(call.layers, forward.spec.name(), name, mode, forward.spec.config(),
                       std::move(backward_config), forward.inputs[0], std::move(weights)));
  if (concatenates) result.sizes.back() *= 2;
  result.is_exclusive = true;
  return result;
}

}  // namespace cairn::nn

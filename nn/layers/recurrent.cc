#include "nn/layers/recurrent.h"

#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {

namespace {

using Kind = RecurrentPass::Kind;

// Keeps gates * units within int64.
constexpr int64_t kUnitsMax = int64_t{1} << 24;

// Reads arguments that have no effect here, and arguments that are rejected unless they are off.
void ReadOptions(LayerConfig& config) {
  config.Ignore({"implementation", "unroll", "use_cudnn", "seed"});
  for (const char* argument : {"stateful", "time_major"}) {
    if (config.Bool(argument, false)) config.FailArgument(argument, "is not supported");
  }
}

// The shape of the sequence, which is the first input.
Shape SequenceShape(LayerConfig& config) {
  if (config.base().inputs.size() <= 1) return config.FloatInput(2, 2).shape;
  const Shape& shape = config.FloatInputs(2)[0].shape;
  if (shape.size() == 2) return shape;
  config.Fail(
      absl::StrCat("takes a sequence with 2 dimensions beside the batch, has ", ShapeText(shape)));
  return {1, 1};
}

// Checks the inputs behind the first one.
void CheckInitialStates(const std::vector<RecurrentPass>& passes, LayerConfig& config) {
  const std::vector<TensorSpec> inputs = config.base().inputs;
  if (inputs.size() <= 1) return;
  const size_t states = passes.size() * passes[0].states();
  if (inputs.size() != 1 + states) {
    config.Fail(absl::StrCat("takes ", states, " initial state(s), has ", inputs.size() - 1));
    return;
  }
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].shape == Shape{passes[0].units}) continue;
    config.Fail(absl::StrCat("its initial state ", i - 1, " has the shape ",
                             ShapeText(inputs[i].shape), ", not ",
                             ShapeText(Shape{passes[0].units})));
  }
}

// Reads the rate of a dropout; 0 in a layer that always runs in inference mode.
double ReadRate(const char* argument, LayerConfig& config) {
  const double rate = config.Number(argument, 0, 0, 1);
  if (rate == 1) config.FailArgument(argument, "must be smaller than 1");
  return config.spec().infers() ? 0 : rate;
}

// A layer wrapped by a Bidirectional, or a cell: its spec under the wrapper's name, and its own
// name, which is part of its variables' names.
struct WrappedLayer {
  proto::LayerSpec spec;
  std::string name;
};

std::optional<WrappedLayer> ReadWrapped(const google::protobuf::Value& value,
                                        const LayerConfig& config) {
  const auto& fields = value.struct_value().fields();
  if (!fields.contains("class_name") || !fields.contains("config")) return {};
  WrappedLayer wrapped;
  wrapped.spec.set_name(config.spec().name());
  wrapped.spec.set_infers(config.spec().infers());
  wrapped.spec.set_class_name(fields.at("class_name").string_value());
  *wrapped.spec.mutable_config() = fields.at("config").struct_value();
  auto& arguments = *wrapped.spec.mutable_config()->mutable_fields();
  wrapped.name = arguments["name"].string_value();
  if (wrapped.name.empty()) wrapped.name = absl::AsciiStrToLower(wrapped.spec.class_name());
  // Name, type and input shape are the wrapper's.
  for (const char* ignored : {"name", "dtype", "batch_input_shape"}) arguments.erase(ignored);
  arguments["trainable"].set_bool_value(config.trainable());
  return wrapped;
}

std::optional<WrappedLayer> Wrapped(const char* argument, LayerConfig& config) {
  const auto found = config.spec().config().fields().find(argument);
  config.Ignore({argument});
  if (found == config.spec().config().fields().end()) return {};
  return ReadWrapped(found->second, config);
}

constexpr char kKnownCells[] =
    "must be a SimpleRNNCell, LSTMCell or GRUCell; a stack of cells is one RNN for each of them";

bool IsCell(const std::string& class_name) {
  return class_name == "SimpleRNNCell" || class_name == "LSTMCell" || class_name == "GRUCell";
}

bool IsRecurrent(const std::string& class_name) {
  return class_name == "SimpleRNN" || class_name == "LSTM" || class_name == "GRU";
}

}  // namespace

Activation ReadCellActivation(const char* argument, const char* default_name, LayerConfig& config) {
  Activation activation = *ParseActivation(default_name);
  if (config.Has(argument)) activation = config.ActivationNamed(argument);
  if (!activation.differentiates_from_output() || activation.is_row_wise()) {
    config.FailArgument(argument, "is not supported in a recurrent layer");
  }
  return activation;
}

void RecurrentLayer::ReadPass(const std::string& prefix, LayerConfig& config, Arguments* arguments,
                              std::vector<LayerVariable>* variables) {
  const Shape input = SequenceShape(config);
  RecurrentPass pass{.steps = input[0], .input_width = input[1]};
  // The layer, or its cell in an RNN.
  pass.kind = absl::StartsWith(config.class_name(), "LSTM")  ? Kind::kLstm
              : absl::StartsWith(config.class_name(), "GRU") ? Kind::kGru
                                                             : Kind::kSimple;
  pass.units = config.Int("units", std::nullopt, 1, kUnitsMax);
  pass.activation = ReadCellActivation("activation", "tanh", config);
  if (pass.kind != Kind::kSimple) {
    pass.recurrent_activation = ReadCellActivation("recurrent_activation", "sigmoid", config);
  }
  pass.use_bias = config.Bool("use_bias", true);
  if (pass.kind == Kind::kGru) pass.resets_after = config.Bool("reset_after", true);
  const bool forgets =
      pass.kind == Kind::kLstm && config.Bool("unit_forget_bias", true) && pass.use_bias;
  pass.goes_backwards = config.Bool("go_backwards", false);
  pass.dropout = ReadRate("dropout", config);
  pass.recurrent_dropout = ReadRate("recurrent_dropout", config);
  arguments->returns_sequences = config.Bool("return_sequences", false);
  arguments->returns_states = config.Bool("return_state", false);
  arguments->zeroes_masked_steps = config.Bool("zero_output_for_mask", false);
  ReadOptions(config);

  const int64_t width = pass.gates() * pass.units;
  pass.first_variable = static_cast<int>(variables->size());
  variables->push_back(
      config.Variable(prefix + "kernel", {pass.input_width, width}, "glorot_uniform", "kernel"));
  variables->push_back(
      config.Variable(prefix + "recurrent_kernel", {pass.units, width}, "orthogonal", "recurrent"));
  LayerVariable bias = config.Variable(
      prefix + "bias", pass.resets_after ? Shape{2, width} : Shape{width}, "zeros", "bias");
  // Keras's unit_forget_bias: the forget gate's bias is 1, whatever the initializer of the rest.
  if (forgets) bias.spec.initializer.ones = {pass.units, 2 * pass.units};
  if (pass.use_bias) variables->push_back(std::move(bias));
  arguments->passes.push_back(pass);
}

std::vector<Shape> RecurrentLayer::OutputShapes(const Arguments& arguments) {
  const RecurrentPass& pass = arguments.passes.back();
  const bool doubles = arguments.passes.size() == 2 && arguments.merge == Merge::kConcatenate;
  Shape output = {doubles ? 2 * pass.units : pass.units};
  if (arguments.returns_sequences) output.insert(output.begin(), pass.steps);
  std::vector<Shape> shapes = {std::move(output)};
  if (!arguments.returns_states) return shapes;
  shapes.resize(1 + arguments.passes.size() * pass.states(), {pass.units});
  return shapes;
}

std::vector<Shape> RecurrentLayer::output_shapes() const { return OutputShapes(arguments_); }

absl::StatusOr<std::unique_ptr<const Layer>> RecurrentLayer::Finish(
    LayerConfig& config, Arguments arguments, std::vector<LayerVariable> variables) {
  // Arguments that readers of models set.
  arguments.ignores_mask = config.Bool("ignores_mask", false);
  const bool reverses_mask = config.Bool("reverses_mask", false);
  for (RecurrentPass& pass : arguments.passes) pass.reverses_mask = reverses_mask;
  CheckInitialStates(arguments.passes, config);
  const std::vector<Shape> shapes = OutputShapes(arguments);
  TensorSpec output{.shape = shapes[0]};
  if (arguments.returns_states) {
    output.shape = {0};
    for (const Shape& shape : shapes) {
      const absl::StatusOr<int64_t> count = CheckedElementCount(shape);
      if (!count.ok()) config.Fail(absl::StrCat("output's ", count.status().message()));
      output.shape[0] += count.value_or(0);
    }
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new RecurrentLayer(
      config.base(), std::move(output), std::move(variables), std::move(arguments)));
}

absl::StatusOr<std::unique_ptr<const Layer>> RecurrentLayer::Create(LayerConfig& config) {
  Arguments arguments;
  std::vector<LayerVariable> variables;
  ReadPass("", config, &arguments, &variables);
  return Finish(config, std::move(arguments), std::move(variables));
}

absl::StatusOr<std::unique_ptr<const Layer>> RecurrentLayer::CreateRnn(LayerConfig& config) {
  std::optional<WrappedLayer> cell = Wrapped("cell", config);
  const bool returns_sequences = config.Bool("return_sequences", false);
  const bool returns_states = config.Bool("return_state", false);
  const bool goes_backwards = config.Bool("go_backwards", false);
  const bool zeroes_masked_steps = config.Bool("zero_output_for_mask", false);
  ReadOptions(config);
  config.Ignore({"ignores_mask", "reverses_mask"});
  SequenceShape(config);
  if (!cell.has_value()) config.FailArgument("cell", kKnownCells);
  if (cell.has_value() && !IsCell(cell->spec.class_name())) {
    config.FailArgument("cell",
                        absl::StrCat("is a ", cell->spec.class_name(), "; it ", kKnownCells));
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  (*cell->spec.mutable_config()->mutable_fields())["go_backwards"].set_bool_value(goes_backwards);
  LayerConfig wrapped(cell->spec, config.base().inputs);
  Arguments arguments;
  std::vector<LayerVariable> variables;
  ReadPass("", wrapped, &arguments, &variables);
  CAIRN_RETURN_IF_ERROR(wrapped.Finish());
  arguments.returns_sequences = returns_sequences;
  arguments.returns_states = returns_states;
  arguments.zeroes_masked_steps = zeroes_masked_steps;
  return Finish(config, std::move(arguments), std::move(variables));
}

absl::StatusOr<std::unique_ptr<const Layer>> RecurrentLayer::CreateBidirectional(
    LayerConfig& config) {
  const std::optional<WrappedLayer> forward = Wrapped("layer", config);
  std::optional<WrappedLayer> backward = Wrapped("backward_layer", config);
  if (!forward.has_value() || !IsRecurrent(forward->spec.class_name())) {
    config.FailArgument("layer", "must be a SimpleRNN, LSTM or GRU");
    return config.Finish();
  }
  // Without a backward layer, Keras clones the forward layer with the opposite direction.
  if (!backward.has_value()) {
    backward = forward;
    auto& copied = *backward->spec.mutable_config()->mutable_fields();
    copied["go_backwards"].set_bool_value(!copied["go_backwards"].bool_value());
  }
  const auto& fields = config.spec().config().fields();
  if (const auto mode = fields.find("merge_mode");
      mode != fields.end() && mode->second.has_null_value()) {
    config.FailArgument("merge_mode", "is null (two outputs), which is not supported");
  }
  const std::string merge = config.Choice("merge_mode", {"concat", "sum", "mul", "ave"});
  Arguments arguments;
  arguments.merge = merge == "sum"   ? Merge::kSum
                    : merge == "mul" ? Merge::kMultiply
                    : merge == "ave" ? Merge::kAverage
                                     : Merge::kConcatenate;
  std::vector<LayerVariable> variables;
  const std::pair<const char*, const WrappedLayer*> directions[] = {{"forward_", &*forward},
                                                                    {"backward_", &*backward}};
  for (const auto& [direction, layer] : directions) {
    LayerConfig wrapped(layer->spec, config.base().inputs);
    ReadPass(absl::StrCat(direction, layer->name, "/"), wrapped, &arguments, &variables);
    if (!wrapped.base().activity_regularizer.empty()) {
      config.FailArgument("layer",
                          "has an activity regularizer, which is not supported; give it to the "
                          "Bidirectional");
    }
    CAIRN_RETURN_IF_ERROR(wrapped.Finish());
  }
  if (arguments.passes[0].goes_backwards || !arguments.passes[1].goes_backwards ||
      arguments.passes[0].units != arguments.passes[1].units) {
    config.FailArgument("layer",
                        "must go forwards, 'backward_layer' backwards, with as many units");
  }
  const bool has_states = arguments.returns_states || config.base().inputs.size() > 1;
  if (has_states && arguments.passes[0].kind != arguments.passes[1].kind) {
    config.FailArgument("backward_layer", "must be of the class of 'layer' if states are used");
  }
  SequenceShape(config);
  return Finish(config, std::move(arguments), std::move(variables));
}

}  // namespace cairn::nn

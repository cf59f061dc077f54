#include "nn/layers/time_distributed.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/layers/layer_output.h"

namespace cairn::nn {

namespace {

using google::protobuf::Value;

// The spec of the wrapped layer. Its name has the wrapper's before it, and so have its variables.
proto::LayerSpec ReadWrapped(LayerConfig& config) {
  proto::LayerSpec wrapped;
  config.Ignore({"layer"});
  const auto& arguments = config.spec().config().fields();
  const auto layer = arguments.find("layer");
  const bool is_layer = layer != arguments.end() &&
                        layer->second.struct_value().fields().contains("class_name") &&
                        layer->second.struct_value().fields().contains("config");
  if (!is_layer) {
    config.FailArgument("layer", "must be a layer");
    return wrapped;
  }
  const auto& fields = layer->second.struct_value().fields();
  wrapped.set_class_name(fields.at("class_name").string_value());
  std::string name = absl::AsciiStrToLower(wrapped.class_name());
  auto& inner = *wrapped.mutable_config()->mutable_fields();
  for (const auto& [argument, value] : fields.at("config").struct_value().fields()) {
    if (argument == "name") name = value.string_value();
    // The type is the wrapper's. An argument that is null is absent, unless null has a meaning.
    const bool is_absent = value.kind_case() == Value::kNullValue && argument != "merge_mode" &&
                           !absl::EndsWith(argument, "_initializer");
    if (argument != "name" && argument != "dtype" && !is_absent) inner[argument] = value;
  }
  inner["trainable"].set_bool_value(config.trainable());
  wrapped.set_name(absl::StrCat(config.spec().name(), "/", name));
  wrapped.set_infers(config.spec().infers());
  return wrapped;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> TimeDistributedLayer::Create(LayerConfig& config,
                                                                          LayerFactory create) {
  const TensorSpec& input = config.AnyInput();
  if (input.shape.size() < 2) {
    config.Fail(absl::StrCat("takes an input with 2 or more dimensions beside the batch, has ",
                             ShapeText(input.shape)));
  }
  const proto::LayerSpec wrapped = ReadWrapped(config);
  CAIRN_RETURN_IF_ERROR(config.Finish());
  const TensorSpec step{.shape = Shape(input.shape.begin() + 1, input.shape.end()),
                        .type = input.type};
  CAIRN_ASSIGN_OR_RETURN(std::unique_ptr<const Layer> inner, create(wrapped, {step}));
  for (const LayerVariable& variable : inner->variables()) {
    // Keras would update a moving average once per step.
    if (variable.spec.update == VariableSpec::Update::kMovingAverage) {
      config.FailArgument("layer", absl::StrCat("is a ", inner->class_name(),
                                                " that trains, which is not supported"));
    }
  }
  if (!inner->activity_regularizer().empty()) {
    config.FailArgument("layer",
                        "has an activity regularizer, which is not supported; give it to "
                        "the TimeDistributed");
  }
  if (!OutputsOf(*inner).empty()) {
    config.FailArgument("layer", "returns its states, which is not supported");
  }
  if (inner->makes_mask()) config.FailArgument("layer", "makes a mask, which is not supported");
  CAIRN_RETURN_IF_ERROR(config.Finish());
  TensorSpec output = inner->output();
  output.shape.insert(output.shape.begin(), input.shape[0]);
  return std::unique_ptr<const Layer>(
      new TimeDistributedLayer(config.base(), std::move(output), std::move(inner)));
}

}  // namespace cairn::nn

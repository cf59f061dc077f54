#include "nn/layers/activation_layer.h"

#include <utility>

#include "common/status_macros.h"

namespace cairn::nn {

namespace {

using Kind = Activation::Kind;

Activation ReadReLU(LayerConfig& config) {
  Activation activation{.kind = Kind::kRelu};
  activation.slope = static_cast<float>(config.Number("negative_slope", 0, 0));
  activation.threshold = static_cast<float>(config.Number("threshold", 0, 0));
  activation.has_max_value = config.Has("max_value");
  activation.max_value = static_cast<float>(config.Number("max_value", 0, 0));
  return activation;
}

Activation ReadLeakyReLU(LayerConfig& config) {
  // Keras 2 and TF.js call the argument alpha, Keras 3 negative_slope.
  const double alpha = config.Number("alpha", 0.3, 0);
  const double slope = config.Number("negative_slope", alpha, 0);
  return {.kind = Kind::kRelu, .slope = static_cast<float>(slope)};
}

Activation ReadArguments(LayerConfig& config, size_t rank) {
  if (config.class_name() == "ReLU") return ReadReLU(config);
  if (config.class_name() == "LeakyReLU") return ReadLeakyReLU(config);
  if (config.class_name() == "ELU") {
    return {.kind = Kind::kElu, .slope = static_cast<float>(config.Number("alpha", 1, 0))};
  }
  if (config.class_name() == "Softmax") {
    if (config.Axis("axis", -1, rank) + 1 != static_cast<int64_t>(rank)) {
      config.FailArgument("axis", "must be the last one");
    }
    return {.kind = Kind::kSoftmax};
  }
  if (const auto operation = FindOperation(config.class_name())) return *operation;
  if (!config.Has("activation")) config.FailArgument("activation", "is missing");
  return config.ActivationNamed("activation");
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> ActivationLayer::Create(LayerConfig& config) {
  TensorSpec output = config.FloatInput(1, kRankMax);
  const Activation activation = ReadArguments(config, output.shape.size());
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(
      new ActivationLayer(config.base(), std::move(output), activation));
}

}  // namespace cairn::nn

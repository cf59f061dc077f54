#include "nn/layers/batch_normalization.h"

#include <string_view>
#include <utility>

#include "common/status_macros.h"

namespace cairn::nn {

namespace {

LayerVariable MovingStatistic(const char* name, int64_t channels, const char* initializer,
                              double momentum, LayerConfig& config) {
  LayerVariable variable = config.Variable(name, {channels}, initializer);
  variable.spec.momentum = momentum;
  const bool moves = config.trainable() && !config.spec().infers();
  variable.spec.update =
      moves ? VariableSpec::Update::kMovingAverage : VariableSpec::Update::kFrozen;
  return variable;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const Layer>> BatchNormalizationLayer::Create(LayerConfig& config) {
  TensorSpec output = config.FloatInput(1, kRankMax);
  const int64_t channels = output.shape.back();
  const size_t rank = output.shape.size();
  if (config.Axis("axis", -1, rank) + 1 != static_cast<int64_t>(rank)) {
    config.FailArgument("axis", "must be the last one");
  }
  // Keras 2 writes these arguments of batch renormalization even if it is off.
  config.Ignore({"renorm_momentum", "renorm_clipping", "virtual_batch_size", "adjustment"});
  for (const char* argument : {"renorm", "fused", "synchronized"}) {
    // `fused` is a hint; the other two would change the result.
    if (config.Bool(argument, false) && std::string_view(argument) != "fused") {
      config.FailArgument(argument, "is not supported");
    }
  }
  Arguments arguments{.centers = config.Bool("center", true), .scales = config.Bool("scale", true)};
  arguments.epsilon = config.Number("epsilon", 1e-3, 0);
  const double momentum = config.Number("momentum", 0.99, 0, 1);

  std::vector<LayerVariable> variables;
  LayerVariable gamma = config.Variable("gamma", {channels}, "ones");
  LayerVariable beta = config.Variable("beta", {channels}, "zeros");
  if (arguments.scales) variables.push_back(std::move(gamma));
  if (arguments.centers) variables.push_back(std::move(beta));
  variables.push_back(MovingStatistic("moving_mean", channels, "zeros", momentum, config));
  variables.push_back(MovingStatistic("moving_variance", channels, "ones", momentum, config));
  CAIRN_RETURN_IF_ERROR(config.Finish());
  return std::unique_ptr<const Layer>(new BatchNormalizationLayer(config.base(), std::move(output),
                                                                  std::move(variables), arguments));
}

}  // namespace cairn::nn

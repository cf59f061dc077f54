#include "nn/layers/layer_output.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "nn/layer_config.h"
#include "nn/layers/recurrent.h"

namespace cairn::nn {

std::vector<Shape> OutputsOf(const Layer& layer) {
  const auto* recurrent = dynamic_cast<const RecurrentLayer*>(&layer);
  if (recurrent == nullptr || !recurrent->returns_states()) return {};
  return recurrent->output_shapes();
}

absl::StatusOr<std::unique_ptr<const Layer>> LayerOutputLayer::Create(const proto::LayerSpec& spec,
                                                                      const Layer& of) {
  LayerConfig config(spec, {of.output()});
  const std::vector<Shape> outputs = OutputsOf(of);
  const int64_t index = config.Int("output", std::nullopt, 0);
  if (outputs.empty()) {
    config.Fail(absl::StrCat("layer '", of.name(), "' has one output; return_state gives more"));
  } else if (index >= static_cast<int64_t>(outputs.size())) {
    config.FailArgument("output", absl::StrCat("is ", index, ", and layer '", of.name(), "' has ",
                                               outputs.size(), " outputs, from 0"));
  }
  CAIRN_RETURN_IF_ERROR(config.Finish());
  int64_t offset = 0;
  for (int64_t i = 0; i < index; ++i) offset += ElementCount(outputs[i]);
  return std::unique_ptr<const Layer>(
      new LayerOutputLayer(config.base(), {.shape = outputs[index]}, index, offset));
}

}  // namespace cairn::nn

#include "tests/nn/test_model.h"

#include <google/protobuf/util/json_util.h>

#include <cstdio>

#include "common/check.h"

namespace cairn::nn::testing {

proto::ModelSpec SpecOf(const std::vector<TestLayer>& layers,
                        const std::vector<std::string>& outputs) {
  proto::ModelSpec spec;
  spec.set_name("test");
  for (const TestLayer& layer : layers) {
    proto::LayerSpec& added = *spec.add_layers();
    added.set_name(layer.name);
    added.set_class_name(layer.class_name);
    const auto parsed =
        google::protobuf::util::JsonStringToMessage(layer.config, added.mutable_config());
    CAIRN_CHECK(parsed.ok());
    for (const std::string& input : layer.inputs) added.add_inputs(input);
    added.set_shares(layer.shares);
    added.set_infers(layer.inference_only);
    const bool is_input = layer.class_name == "InputLayer";
    if (is_input) spec.add_inputs(layer.name);
    if (!is_input && layer.inputs.empty() && spec.layers_size() > 1) {
      added.add_inputs(spec.layers(spec.layers_size() - 2).name());
    }
  }
  for (const std::string& output : outputs) spec.add_outputs(output);
  if (outputs.empty() && !layers.empty()) spec.add_outputs(layers.back().name);
  return spec;
}

std::unique_ptr<Model> ModelOf(const std::vector<TestLayer>& layers,
                               const std::vector<std::string>& outputs) {
  absl::StatusOr<std::unique_ptr<Model>> model = Model::Create(SpecOf(layers, outputs));
  if (!model.ok()) std::fprintf(stderr, "%s\n", model.status().ToString().c_str());
  CAIRN_CHECK(model.ok());
  return *std::move(model);
}

}  // namespace cairn::nn::testing

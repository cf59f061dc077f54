#include "tests/benchmarks/models/step_work.h"

#include <string>

#include "nn/layers/conv2d.h"
#include "nn/layers/dense.h"
#include "nn/tensor.h"

namespace cairn {
namespace {

// Multiplications of the forward pass of one example; 0 if the layer has no products.
double Multiplications(const nn::Layer& layer) {
  const auto outputs = static_cast<double>(nn::ElementCount(layer.output().shape));
  if (const auto* dense = dynamic_cast<const nn::DenseLayer*>(&layer)) {
    return outputs * static_cast<double>(dense->input_width());
  }
  if (const auto* conv = dynamic_cast<const nn::Conv2DLayer*>(&layer)) {
    const nn::Window& window = conv->window();
    return outputs * static_cast<double>(window.size[0] * window.size[1] *
                                         (conv->input_image()[2] / conv->groups()));
  }
  return 0;
}

}  // namespace

StepWork WorkOf(const nn::Model& model, int64_t batch_size, int slots) {
  StepWork work;
  for (const nn::Model::Node& node : model.nodes()) {
    const nn::Layer& layer = *node.layer;
    if (node.inputs.empty()) continue;
    const bool is_first = model.nodes()[node.inputs[0]].inputs.empty();
    const double multiplications = Multiplications(layer) * static_cast<double>(batch_size);
    work.operations += multiplications * 2 * (is_first ? 2 : 3);
    const bool is_pooling = layer.class_name().find("Pooling") != std::string::npos;
    if (multiplications == 0 && !is_pooling) continue;
    const int64_t moved =
        nn::ElementCount(layer.inputs()[0].shape) + nn::ElementCount(layer.output().shape);
    work.bytes += 3.0 * sizeof(float) * static_cast<double>(moved * batch_size);
  }
  for (const nn::VariableSpec& variable : model.variables()) {
    // Values: read twice, read and written by the update; gradients written and read.
    work.bytes += static_cast<double>(variable.element_count() * sizeof(float) * (6 + 2 * slots));
  }
  return work;
}

}  // namespace cairn

#include "nn/plan/fusion.h"

namespace cairn::nn {
namespace {

// By node: who needs its output, masks and the caller included.
std::vector<int> CountTakers(const Model& model) {
  std::vector<int> takers(model.nodes().size(), 0);
  for (const Model::Node& node : model.nodes()) {
    for (int input : node.inputs) ++takers[input];
    for (int mask : node.masks) {
      if (mask >= 0) ++takers[mask];
    }
  }
  for (const Model::Output& output : model.outputs()) ++takers[output.node];
  return takers;
}

}  // namespace

Fusion::Fusion(const Model& model, const Device& device)
    : next(model.nodes().size(), -1), previous(model.nodes().size(), -1) {
  const std::vector<int> takers = CountTakers(model);
  for (int i = 0; i < static_cast<int>(model.nodes().size()); ++i) {
    const Model::Node& second = model.nodes()[i];
    if (second.inputs.size() != 1 || !second.masks.empty()) continue;
    const int before = second.inputs[0];
    const Model::Node& first = model.nodes()[before];
    if (first.inputs.empty() || takers[before] != 1 || is_second(before)) continue;
    if (!first.masks.empty() || first.layer->makes_mask()) continue;
    // The gradients of variables come in the order of the nodes, which calls that share rely on.
    if (!second.layer->variables().empty() && before != i - 1) continue;
    if (!device.Fuses(*first.layer, *second.layer)) continue;
    next[before] = i;
    previous[i] = before;
  }
}

}  // namespace cairn::nn

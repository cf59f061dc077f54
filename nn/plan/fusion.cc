#include "nn/plan/fusion.h"

namespace cairn::nn {
namespace {

// The number of consumers of each node's output. Masks and model outputs count.
std::vector<int> CountConsumers(const Model& model) {
  std::vector<int> consumers(model.nodes().size(), 0);
  for (const Model::Node& node : model.nodes()) {
    for (int input : node.inputs) ++consumers[input];
    for (int mask : node.masks) {
      if (mask >= 0) ++consumers[mask];
    }
  }
  for (const Model::Output& output : model.outputs()) ++consumers[output.node];
  return consumers;
}

}  // namespace

Fusion::Fusion(const Model& model, const Device& device)
    : next(model.nodes().size(), -1), previous(model.nodes().size(), -1) {
  const std::vector<int> consumers = CountConsumers(model);
  for (int i = 0; i < static_cast<int>(model.nodes().size()); ++i) {
    const Model::Node& second = model.nodes()[i];
    // Fusion is conservative: the second layer has one input and no mask, the first one has no
    // other consumer, takes no part in masking and is not in a pair already.
    if (second.inputs.size() != 1 || !second.masks.empty()) continue;
    const int before = second.inputs[0];
    const Model::Node& first = model.nodes()[before];
    if (first.inputs.empty() || consumers[before] != 1 || is_second(before)) continue;
    if (!first.masks.empty() || first.layer->makes_mask()) continue;
    // The tensor between the layers is not stored, so it has no penalty either.
    if (!first.layer->activity_regularizer().empty()) continue;
    // Backward runs both layers at the position of the first one. If the second has variables,
    // nodes between them could report their gradients in the wrong order, and shared variables rely
    // on that order.
    if (!second.layer->variables().empty() && before != i - 1) continue;
    if (!device.CanFuse(*first.layer, *second.layer)) continue;
    next[before] = i;
    previous[i] = before;
  }
}

}  // namespace cairn::nn

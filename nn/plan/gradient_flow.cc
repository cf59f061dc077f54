#include "nn/plan/gradient_flow.h"

#include <algorithm>

namespace cairn::nn {
namespace {

bool IsTrained(const LayerVariable& variable) {
  return variable.spec.update != VariableSpec::Update::kFrozen;
}

}  // namespace

GradientFlow::GradientFlow(const Model& model) {
  const std::vector<Model::Node>& nodes = model.nodes();
  // Forward: a node needs a gradient if it or one of its inputs does.
  std::vector<int> consumers(nodes.size(), 0);
  for (const Model::Node& node : nodes) {
    bool is_needed =
        std::any_of(node.layer->variables().begin(), node.layer->variables().end(), IsTrained);
    for (int input : node.inputs) {
      is_needed = is_needed || needed[input];
      ++consumers[input];
    }
    needed.push_back(is_needed);
  }

  std::vector<bool> has_arrived(nodes.size(), false);
  // Backward: the first gradient of an output is written, later ones are added. The loss writes
  // before any node runs.
  for (const Model::Output& output : model.outputs()) {
    has_arrived[output.node] = true;
    ++consumers[output.node];
  }
  writes.resize(nodes.size());
  shares_gradient.resize(nodes.size(), false);
  for (int i = static_cast<int>(nodes.size()) - 1; i >= 0; --i) {
    for (int input : nodes[i].inputs) {
      const GradientWrite first = has_arrived[input] ? GradientWrite::kAdd : GradientWrite::kWrite;
      writes[i].push_back(needed[input] ? first : GradientWrite::kNone);
      has_arrived[input] = true;
      shares_gradient[i] = nodes[i].layer->is_view() && consumers[input] == 1;
    }
  }
}

}  // namespace cairn::nn

#include "nn/plan/gradient_flow.h"

namespace cairn::nn {
namespace {

bool HasTrainedVariable(const Model::Node& node, const std::vector<bool>& trained) {
  const std::vector<LayerVariable>& variables = node.layer->variables();
  for (size_t v = 0; v < variables.size(); ++v) {
    if (variables[v].spec.update == VariableSpec::Update::kFrozen) continue;
    if (trained.empty() || trained[node.first_variable + v]) return true;
  }
  return false;
}

}  // namespace

GradientFlow::GradientFlow(const Model& model, const std::vector<bool>& trained) {
  const std::vector<Model::Node>& nodes = model.nodes();
  // Forward: a node needs a gradient if it or one of its inputs does.
  std::vector<int> consumers(nodes.size(), 0);
  for (const Model::Node& node : nodes) {
    bool is_needed = HasTrainedVariable(node, trained);
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

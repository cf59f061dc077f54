#include "nn/text_input.h"

#include <algorithm>

#include "nn/layers/input.h"

namespace cairn::nn {

const StringLookupLayer* LookupOf(const Model& model, int input) {
  const int place = model.input_nodes()[input];
  if (!IsText(*model.nodes()[place].layer)) return nullptr;
  // Model::Create has checked that it is the only one.
  const auto user = std::find_if(
      model.nodes().begin(), model.nodes().end(),
      [place](const Model::Node& node) { return !node.inputs.empty() && node.inputs[0] == place; });
  return static_cast<const StringLookupLayer*>(user->layer.get());
}

bool TakesText(const Model& model) {
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    if (LookupOf(model, static_cast<int>(i)) != nullptr) return true;
  }
  return false;
}

}  // namespace cairn::nn

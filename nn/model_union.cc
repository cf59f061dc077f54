#include "nn/model_union.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace cairn::nn {
namespace {

std::string PrefixOf(const std::string& part) { return part + "/"; }

// Adds `prefix` to the names in a layer.
void Rename(const std::string& prefix, proto::LayerSpec* layer) {
  layer->set_name(prefix + layer->name());
  for (std::string& input : *layer->mutable_inputs()) input.insert(0, prefix);
  if (!layer->shares().empty()) layer->set_shares(prefix + layer->shares());
}

// Removes it again. False: some name does not begin with it.
bool CutName(const std::string& prefix, std::string* name) {
  if (!absl::StartsWith(*name, prefix)) return false;
  name->erase(0, prefix.size());
  return true;
}

bool Unname(const std::string& prefix, proto::LayerSpec* layer) {
  bool has_prefix = CutName(prefix, layer->mutable_name());
  for (std::string& input : *layer->mutable_inputs()) {
    has_prefix = CutName(prefix, &input) && has_prefix;
  }
  if (!layer->shares().empty()) {
    has_prefix = CutName(prefix, layer->mutable_shares()) && has_prefix;
  }
  return has_prefix;
}

}  // namespace

proto::ModelSpec UnionOf(const std::vector<UnionPart>& parts) {
  proto::ModelSpec result;
  result.set_name("models");
  for (const UnionPart& part : parts) {
    proto::ModelPart* described = result.add_parts();
    described->set_name(part.name);
    described->set_model_name(part.spec.name());
    described->set_sequential(part.spec.sequential());
    const std::string prefix = PrefixOf(part.name);
    for (const proto::LayerSpec& layer : part.spec.layers()) {
      proto::LayerSpec* added = result.add_layers();
      *added = layer;
      Rename(prefix, added);
      if (!part.frozen || layer.inputs().empty()) continue;
      (*added->mutable_config()->mutable_fields())["trainable"].set_bool_value(false);
    }
    for (const std::string& input : part.spec.inputs()) result.add_inputs(prefix + input);
    for (const std::string& output : part.spec.outputs()) result.add_outputs(prefix + output);
  }
  return result;
}

absl::StatusOr<proto::ModelSpec> PartOf(const proto::ModelSpec& model, const std::string& name) {
  const auto part = std::find_if(model.parts().begin(), model.parts().end(),
                                 [&](const proto::ModelPart& each) { return each.name() == name; });
  if (part == model.parts().end()) {
    return absl::InvalidArgumentError(absl::StrCat("there is no model '", name, "', but ",
                                                   absl::StrJoin(PartNames(model), ", ")));
  }
  const std::string prefix = PrefixOf(name);
  proto::ModelSpec result;
  result.set_name(part->model_name());
  result.set_sequential(part->sequential());
  for (const proto::LayerSpec& layer : model.layers()) {
    if (!absl::StartsWith(layer.name(), prefix)) continue;
    proto::LayerSpec* added = result.add_layers();
    *added = layer;
    if (Unname(prefix, added)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("layer '", layer.name(), "' is connected to a layer of another model"));
  }
  for (std::string input : model.inputs()) {
    if (CutName(prefix, &input)) result.add_inputs(std::move(input));
  }
  for (std::string output : model.outputs()) {
    if (CutName(prefix, &output)) result.add_outputs(std::move(output));
  }
  return result;
}

std::vector<std::string> PartNames(const proto::ModelSpec& model) {
  std::vector<std::string> names;
  for (const proto::ModelPart& part : model.parts()) names.push_back(part.name());
  return names;
}

}  // namespace cairn::nn

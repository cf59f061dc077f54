#include "nn/formats/topological_order.h"

#include <functional>
#include <queue>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::nn {
namespace {

struct Graph {
  // By layer: those that take its output or share its variables.
  std::vector<std::vector<int>> users;
  std::vector<int> missing;  // By layer: how many of those that it needs are not sorted yet.
};

absl::Status BuildGraph(const proto::ModelSpec& spec, Graph* graph) {
  std::unordered_map<std::string, int> index;
  for (const proto::LayerSpec& layer : spec.layers()) {
    if (!index.emplace(layer.name(), static_cast<int>(index.size())).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("two layers have the name '", layer.name(), "'"));
    }
  }
  graph->users.resize(spec.layers_size());
  for (int i = 0; i < spec.layers_size(); ++i) {
    graph->missing.push_back(spec.layers(i).inputs_size());
    for (const std::string& input : spec.layers(i).inputs()) {
      const auto it = index.find(input);
      if (it == index.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "layer '", spec.layers(i).name(), "' has input '", input, "', which is not a layer"));
      }
      graph->users[it->second].push_back(i);
    }
    // A layer that is not there is the model's error.
    const auto owner = index.find(spec.layers(i).shares());
    if (owner == index.end()) continue;
    graph->users[owner->second].push_back(i);
    ++graph->missing[i];
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SortTopologically(proto::ModelSpec* spec) {
  Graph graph;
  CAIRN_RETURN_IF_ERROR(BuildGraph(*spec, &graph));
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < spec->layers_size(); ++i) {
    if (graph.missing[i] == 0) ready.push(i);
  }
  google::protobuf::RepeatedPtrField<proto::LayerSpec> sorted;
  while (!ready.empty()) {
    const int next = ready.top();
    ready.pop();
    *sorted.Add() = spec->layers(next);
    for (int user : graph.users[next]) {
      if (--graph.missing[user] == 0) ready.push(user);
    }
  }
  for (int i = 0; i < spec->layers_size(); ++i) {
    if (graph.missing[i] > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("layer '", spec->layers(i).name(), "' depends on itself"));
    }
  }
  spec->mutable_layers()->Swap(&sorted);
  return absl::OkStatus();
}

}  // namespace cairn::nn

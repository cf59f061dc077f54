#include "nn/plan/gradient_layout.h"

#include "nn/plan/span_planner.h"
#include "nn/tensor.h"

namespace cairn::nn {
namespace {

using GradientWrite = GradientFlow::GradientWrite;

// Simulates a backward pass: acquires the memory of a gradient when it is first written and
// releases it after its last use.
class BackwardSimulation {
 public:
  BackwardSimulation(const Model& model, const GradientFlow& flow, const Fusion& fusion,
                     int64_t batch_size, GradientLayout* layout)
      : model_(model), flow_(flow), fusion_(fusion), batch_size_(batch_size), layout_(*layout) {
    layout_.outputs.assign(model.nodes().size(), -1);
    layout_.inputs.resize(model.nodes().size());
  }

  void Run() {
    // Losses write their gradients before any node runs.
    for (const Model::Output& output : model_.outputs()) {
      if (flow_.needed[output.node]) PlaceOf(output.node);
    }
    for (int i = static_cast<int>(model_.nodes().size()) - 1; i >= 0; --i) {
      if (!fusion_.is_second(i)) RunNode(i);
    }
    // Views that share memory get the offset of the tensor that they are views of.
    for (size_t i = 0; i < model_.nodes().size(); ++i) {
      layout_.outputs[i] = layout_.outputs[Root(static_cast<int>(i))];
    }
    layout_.size = planner_.size();
  }

 private:
  // The node whose output gradient holds this node's output gradient: itself, or the tensor that it
  // is a view of.
  int Root(int node) const {
    while (flow_.shares_gradient[node]) node = model_.nodes()[node].inputs[0];
    return node;
  }

  int64_t Count(int node) const {
    return batch_size_ * ElementCount(model_.nodes()[node].layer->output().shape);
  }

  int64_t PlaceOf(int node) {
    int64_t& place = layout_.outputs[Root(node)];
    if (place < 0) place = planner_.Acquire(Count(node));
    return place;
  }

  // True if the input gradient can overwrite the output gradient: the layer supports it and this is
  // the input's first gradient.
  bool WritesInPlace(int node) const {
    return model_.nodes()[node].layer->class_name() == "BatchNormalization" &&
           flow_.writes[node][0] == GradientWrite::kWrite;
  }

  void RunNode(int node) {
    const int tail = fusion_.tail(node);
    const std::vector<int>& inputs = model_.nodes()[node].inputs;
    // In place: the input gradient takes over the memory, so nothing is released.
    if (WritesInPlace(node) && layout_.outputs[tail] >= 0) {
      layout_.outputs[Root(inputs[0])] = layout_.outputs[tail];
      layout_.inputs[node].push_back(layout_.outputs[tail]);
      return;
    }
    // Acquire all input gradients before releasing the output gradient, because the kernel reads
    // one while it writes the others. Temporary gradients are added right after the node has run.
    std::vector<int64_t> temporary;
    for (size_t input = 0; input < inputs.size(); ++input) {
      int64_t place = -1;
      if (flow_.writes[node][input] == GradientWrite::kWrite) place = PlaceOf(inputs[input]);
      if (flow_.writes[node][input] == GradientWrite::kAdd) {
        place = planner_.Acquire(Count(inputs[input]));
        temporary.push_back(place);
      }
      layout_.inputs[node].push_back(place);
    }
    for (int64_t place : temporary) planner_.Release(place);
    if (layout_.outputs[tail] >= 0) planner_.Release(layout_.outputs[tail]);
  }

  const Model& model_;
  const GradientFlow& flow_;
  const Fusion& fusion_;
  const int64_t batch_size_;
  GradientLayout& layout_;
  SpanPlanner planner_;
};

}  // namespace

GradientLayout::GradientLayout(const Model& model, const GradientFlow& flow, const Fusion& fusion,
                               int64_t batch_size) {
  BackwardSimulation(model, flow, fusion, batch_size, this).Run();
}

}  // namespace cairn::nn

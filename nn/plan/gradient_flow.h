#ifndef CAIRN_NN_PLAN_GRADIENT_FLOW_H_
#define CAIRN_NN_PLAN_GRADIENT_FLOW_H_

#include <vector>

#include "nn/model.h"

namespace cairn::nn {

// Determines which nodes take part in the backward pass, and how gradients are combined where an
// output has several consumers (the loss counts as one). The backward pass runs from the last node
// to the first.
struct GradientFlow {
  enum class GradientWrite {
    kNone,   // The input needs no gradient.
    kWrite,  // The first gradient of this input: written to its final place.
    kAdd,    // A further gradient: written to temporary memory, then added.
  };

  // `trained`, by variable: false for one that gets no gradient, although it is not frozen. Empty:
  // all get one.
  explicit GradientFlow(const Model& model, const std::vector<bool>& trained = {});

  // By node: true if it or an ancestor has a trained variable.
  std::vector<bool> needed;
  // By node and input: how the node's gradient with respect to that input is stored.
  std::vector<std::vector<GradientWrite>> writes;
  // By node: true for a view whose output gradient can share memory with its input's gradient,
  // because the input has no other consumer.
  std::vector<bool> shares_gradient;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_PLAN_GRADIENT_FLOW_H_

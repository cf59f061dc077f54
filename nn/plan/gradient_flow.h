#ifndef CAIRN_NN_PLAN_GRADIENT_FLOW_H_
#define CAIRN_NN_PLAN_GRADIENT_FLOW_H_

#include <vector>

#include "nn/model.h"

namespace cairn::nn {

// Which layers of a model take part in its backward pass, and how gradients meet where an output
// has several takers, of which the loss may be one. Layers run backward from the last to the first.
struct GradientFlow {
  enum class Slot {
    kNone,   // The input needs no gradient.
    kWrite,  // First to arrive: written where the input's layer reads it.
    kAdd,    // Written elsewhere, then added.
  };

  explicit GradientFlow(const Model& model);

  // By node: it has a variable that is trained, or such a layer stands below it.
  std::vector<bool> needed;
  // By node and input.
  std::vector<std::vector<Slot>> slots;
  // By node: a view whose gradient can lie where its input's does, because nothing else arrives
  // there.
  std::vector<bool> shares_gradient;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_PLAN_GRADIENT_FLOW_H_

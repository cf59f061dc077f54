#ifndef CAIRN_NN_PLAN_GRADIENT_LAYOUT_H_
#define CAIRN_NN_PLAN_GRADIENT_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "nn/model.h"
#include "nn/plan/fusion.h"
#include "nn/plan/gradient_flow.h"

namespace cairn::nn {

// Where the gradients of outputs lie during a backward pass: in one piece of memory, in which
// gradients that are never there at the same time share places. A gradient is there from when the
// last taker of its output has run until its own layer has; batch normalisation turns it into that
// by its input in place. Counted in floats.
struct GradientLayout {
  GradientLayout(const Model& model, const GradientFlow& flow, const Fusion& fusion,
                 int64_t batch_size);

  int64_t size = 0;
  // By node: the gradient by its output; -1 if there is none.
  std::vector<int64_t> outputs;
  // By node and input: where it writes the gradient by that input; -1 if it does not.
  std::vector<std::vector<int64_t>> slots;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_PLAN_GRADIENT_LAYOUT_H_

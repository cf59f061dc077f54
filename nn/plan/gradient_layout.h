#ifndef CAIRN_NN_PLAN_GRADIENT_LAYOUT_H_
#define CAIRN_NN_PLAN_GRADIENT_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "nn/model.h"
#include "nn/plan/fusion.h"
#include "nn/plan/gradient_flow.h"

namespace cairn::nn {

// Places the gradients of all outputs in one block of memory, such that gradients that are never
// live at the same time share memory. In a backward pass, a gradient is live from the time its
// first contribution is written until its own node has run. Batch normalization turns its output
// gradient into its input gradient in place. Offsets and sizes count floats.
struct GradientLayout {
  GradientLayout(const Model& model, const GradientFlow& flow, const Fusion& fusion,
                 int64_t batch_size);

  int64_t size = 0;
  // By node: the offset of the gradient with respect to its output; -1 if none.
  std::vector<int64_t> outputs;
  // By node and input: the offset where the node writes the gradient with respect to that input; -1
  // if none.
  std::vector<std::vector<int64_t>> inputs;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_PLAN_GRADIENT_LAYOUT_H_

#ifndef CAIRN_NN_CUDA_RECURRENT_CELL_H_
#define CAIRN_NN_CUDA_RECURRENT_CELL_H_

#include <cstdint>

#include "nn/cuda/context.h"
#include "nn/cuda/recurrent_output.h"
#include "nn/layers/recurrent.h"

// The elementwise part of one step of a recurrent layer, after the matrix products: one launch for
// all examples. Only .cu files include this.

namespace cairn::nn::cuda {

// Rows of device memory, one for each example.
struct Rows {
  float* data = nullptr;
  int64_t stride = 0;  // From a row to the next one.

  __device__ float* operator[](int64_t example) const { return data + example * stride; }
};

// A layer's cells. `units` adjacent values are one gate of a cell, `gates` gates one cell, in the
// order of RecurrentPass.
struct RecurrentCell {
  RecurrentPass::Kind kind = RecurrentPass::Kind::kSimple;
  bool resets_after = false;
  Activation activation;
  Activation recurrent_activation;
  int64_t examples = 0;
  int64_t units = 0;
  int64_t gates = 1;
  // Cells of an example: the pixels of a ConvLSTM, else 1.
  int64_t cells = 1;

  // Elements of a state of one example.
  constexpr int64_t count() const { return cells * units; }
};

// Device memory of one step in the forward pass.
struct CellStep {
  // In: the input's product. Out: the values of the gates.
  Rows x_part;
  // The state's product. Without data it was added to x_part. In a GRU with reset_after the last
  // gate is replaced by its sum with the bias.
  Rows h_part;
  const float* bias = nullptr;  // Null: none.
  const float* h_bias = nullptr;
  Rows h_before;
  Rows c_before;  // LSTM only, like c.
  Rows h;
  Rows c;
  // Where to write h for the products of the next step: `operand_gates` times, each multiplied by
  // the factors of its gate.
  Rows operands;
  int64_t operand_gates = 0;
  // Of the states; the draws are those of RecurrentPass::StateFactor.
  bool drops = false;
  DropoutFactors factors;
  // The example's word is mask[example * mask_stride]; zero leaves its state unchanged. Null: none.
  const int32_t* mask = nullptr;
  int64_t mask_stride = 0;
};

// Writes the state before the first step: h, c and the operands of `step`. A null state is zero.
void StartSteps(Context* context, const RecurrentCell& cell, const float* h, const float* c,
                const CellStep& step);
void StepForward(Context* context, const RecurrentCell& cell, const CellStep& step);
// For a GRU with reset_after=False, whose last gate's product needs the other gates: computes
// these, and the operand of that product. The product and StepForward follow.
void StepForwardToReset(Context* context, const RecurrentCell& cell, const CellStep& step,
                        const Rows& reset);

// Device memory of one step in the backward pass.
struct CellStepBack {
  Rows x_part;  // In: as the forward pass left it. Out: its gradient.
  // The same of h_part, in a GRU with reset_after. Other cells write the gradient here too, if it
  // has data.
  Rows h_part;
  Rows h_before;
  Rows c_before;
  Rows c;
  // The gradient with respect to h after the step is the sum of that through the output of step
  // `step` of pass `pass`, of `carried`, and of `products` rows of `product`, each multiplied by
  // the factors of its gate. The last step has neither `carried` nor `product`.
  RecurrentOutput output;
  const float* output_gradient = nullptr;
  int64_t pass = 0;
  int64_t step = 0;
  Rows product;
  int64_t products = 1;
  bool drops = false;
  DropoutFactors factors;
  // (examples, units). In: the part of h's gradient that reaches h without a product. Out: the
  // same for h_before.
  float* carried = nullptr;
  // (examples, units), LSTM only. In: the gradient with respect to c. Out: to c_before.
  float* c_gradient = nullptr;
  const int32_t* mask = nullptr;  // As in CellStep.
  int64_t mask_stride = 0;
};

// In a GRU with reset_after=False, the gradients of the gate r and of h_before are incomplete: the
// product of the last gate and StepBackFromReset must follow.
void StepBack(Context* context, const RecurrentCell& cell, const CellStepBack& step);
void StepBackFromReset(Context* context, const RecurrentCell& cell, const CellStepBack& step);
// Writes the gradient with respect to h before the first step. `step` is that of the first step.
void FinishSteps(Context* context, const RecurrentCell& cell, const CellStepBack& step,
                 float* h_gradient);

// Writes the layer's output.
void WriteOutput(Context* context, const RecurrentOutput& output, float* to);

}  // namespace cairn::nn::cuda

#endif  // CAIRN_NN_CUDA_RECURRENT_CELL_H_

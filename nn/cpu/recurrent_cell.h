#ifndef CAIRN_NN_CPU_RECURRENT_CELL_H_
#define CAIRN_NN_CPU_RECURRENT_CELL_H_

#include <cstdint>
#include <memory>

#include "nn/layers/recurrent.h"

namespace cairn::nn {

// The elementwise part of a recurrent cell for one row (one example at one step), after the matrix
// products. Gates are adjacent, `units` values each, in the order of RecurrentPass. Immutable and
// thread-safe.
class RecurrentCell {
 public:
  // x_part is the input's product for all gates (x W + b), h_part the state's (h U). The cell may
  // overwrite both to keep what its backward pass needs.
  struct Step {
    float* x_part = nullptr;
    float* h_part = nullptr;
    const float* h_before = nullptr;
    const float* c_before = nullptr;  // LSTM only, like c.
    float* h = nullptr;
    float* c = nullptr;
  };
  struct StepBack {
    const float* x_part = nullptr;  // As Forward left it; so is h_part.
    const float* h_part = nullptr;
    const float* h_before = nullptr;
    const float* c_before = nullptr;
    const float* h = nullptr;
    const float* c = nullptr;
    const float* h_gradient = nullptr;
    // LSTM only. In: the gradient with respect to c. Out: with respect to c_before.
    float* c_gradient = nullptr;
    // Out: the gradient with respect to h_before, without the part that goes through the product h
    // U.
    float* h_before_gradient = nullptr;
    float* x_part_gradient = nullptr;
    float* h_part_gradient = nullptr;
  };

  virtual ~RecurrentCell() = default;
  virtual void Forward(const Step& step) const = 0;
  virtual void Backward(const StepBack& step) const = 0;
};

// Creates the pass's cell. A GRU with reset_after=False has no cell: its reset precedes the product
// (see RecurrentSteps).
std::unique_ptr<RecurrentCell> CreateRecurrentCell(const RecurrentPass& pass);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_RECURRENT_CELL_H_

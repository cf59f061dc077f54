#ifndef CAIRN_NN_CPU_RECURRENT_CELL_H_
#define CAIRN_NN_CPU_RECURRENT_CELL_H_

#include <cstdint>
#include <memory>

#include "nn/layers/recurrent.h"

namespace cairn::nn {

// What a recurrent cell does with one row (one example at one step) once the products are there.
// Gates lie one after the other, `units` wide each. Immutable, thread-safe.
class RecurrentCell {
 public:
  // x_part: what the input gives to each gate; h_part: what the state does. Both may be
  // overwritten: the cell keeps there what it needs to go backwards.
  struct Step {
    float* x_part = nullptr;
    float* h_part = nullptr;
    const float* h_before = nullptr;
    const float* c_before = nullptr;  // LSTM only, like c.
    float* h = nullptr;
    float* c = nullptr;
  };
  struct StepBack {
    const float* x_part = nullptr;  // As Forward left it.
    const float* h_part = nullptr;
    const float* h_before = nullptr;
    const float* c_before = nullptr;
    const float* h = nullptr;
    const float* c = nullptr;
    const float* h_gradient = nullptr;
    // LSTM only. In: by c; out: by c_before.
    float* c_gradient = nullptr;
    // Out: what reaches h_before beside the product.
    float* h_before_gradient = nullptr;
    float* x_part_gradient = nullptr;
    float* h_part_gradient = nullptr;
  };

  virtual ~RecurrentCell() = default;
  virtual void Forward(const Step& step) const = 0;
  virtual void Backward(const StepBack& step) const = 0;
};

// For the pass; a GRU that resets before its product is not among them: see RecurrentPassKernel.
std::unique_ptr<RecurrentCell> CreateRecurrentCell(const RecurrentPass& pass);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_RECURRENT_CELL_H_

#ifndef CAIRN_NN_CPU_RECURRENT_STEPS_H_
#define CAIRN_NN_CPU_RECURRENT_STEPS_H_

#include <cstdint>
#include <memory>

#include "nn/cpu/dnnl_context.h"
#include "nn/cpu/recurrent_cell.h"

namespace cairn::nn {

// The steps of a recurrent pass, each for all examples at once: the product with the state, then
// the cell row by row. The caller owns the memory; buffers have the layout of RecurrentCell, one
// row per example. Used by one thread.
class RecurrentSteps {
 public:
  virtual ~RecurrentSteps() = default;

  // Sets the recurrent kernel (units, gates * units), the second row of the bias (null: none) and
  // the factors of the states in the products, (examples, gates, units) (null: all are 1), for the
  // following steps. All are borrowed.
  virtual void Load(const float* kernel, const float* bias, const float* factors) = 0;
  virtual void Forward(const RecurrentCell::Step& rows) = 0;
  virtual void Backward(const RecurrentCell::StepBack& rows) = 0;
  // The recurrent kernel's gradient, after Backward of all steps. The states and parts of `steps`
  // steps are contiguous.
  struct Gradient {
    int64_t steps = 0;
    const float* h_before = nullptr;
    const float* h_part_gradient = nullptr;
    const float* h_part = nullptr;
  };
  virtual void KernelGradient(const Gradient& gradient, float* kernel_gradient) = 0;
};

// Creates the steps for a pass. Throws dnnl::error.
std::unique_ptr<RecurrentSteps> CreateRecurrentSteps(const RecurrentPass& pass, int64_t examples,
                                                     bool training, const DnnlContext* context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_RECURRENT_STEPS_H_

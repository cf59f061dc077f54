#ifndef CAIRN_NN_CPU_RECURRENT_STEPS_H_
#define CAIRN_NN_CPU_RECURRENT_STEPS_H_

#include <cstdint>
#include <memory>

#include "nn/cpu/dnnl_context.h"
#include "nn/cpu/recurrent_cell.h"

namespace cairn::nn {

// A recurrent pass's steps, each for all examples at once: the product with the state, and the cell
// row by row. Memory is the caller's, as RecurrentCell says, row after row. Belongs to one thread.
class RecurrentSteps {
 public:
  virtual ~RecurrentSteps() = default;

  // What the steps until the next call use: a kernel (units, gates * units) and the second row of
  // the bias (null: none).
  virtual void Load(const float* kernel, const float* bias) = 0;
  virtual void Forward(const RecurrentCell::Step& rows) = 0;
  virtual void Backward(const RecurrentCell::StepBack& rows) = 0;
  // The kernel's gradient, after all steps went backwards: states and parts of `steps` steps lie
  // one after the other.
  struct Gradient {
    int64_t steps = 0;
    const float* h_before = nullptr;
    const float* h_part_gradient = nullptr;
    const float* h_part = nullptr;
  };
  virtual void KernelGradient(const Gradient& gradient, float* kernel_gradient) = 0;
};

// Throws dnnl::error.
std::unique_ptr<RecurrentSteps> CreateRecurrentSteps(const RecurrentPass& pass, int64_t examples,
                                                     bool training, const DnnlContext* context);

}  // namespace cairn::nn

#endif  // CAIRN_NN_CPU_RECURRENT_STEPS_H_

#ifndef CAIRN_NN_KERNEL_H_
#define CAIRN_NN_KERNEL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "nn/loss.h"

namespace cairn::nn {

// All pointers are to device memory. Tensors are row-major with the batch first and channels last.
// Ids are int32, passed through a float pointer.
struct ForwardArguments {
  absl::Span<const float* const> inputs;
  float* output = nullptr;
  // Where to write the input of Layer::activation() too, if that is a softmax or a sigmoid and the
  // loss takes it (Loss::TakesLogitsOf). Null otherwise.
  float* logits = nullptr;
  absl::Span<const float* const> variables;
  // By input: one word per step of each example, zero if the step is masked. A null pointer means
  // that no step is masked. Empty if no input has a mask or the layer does not use masks.
  absl::Span<const int32_t* const> masks;
  // Where to write the mask if Layer::computes_mask(). Null otherwise.
  int32_t* mask_output = nullptr;
  // Where a kernel that checks its inputs on the device writes 1 if the layer does not accept them.
  // The result of Forward is then OK, and FindInvalid has the error. Null: Forward returns it.
  double* invalid = nullptr;
  bool training = false;
  // The seed of this layer's random draws in this batch.
  uint64_t random_key = 0;
};

struct BackwardArguments {
  // The tensors of the last Forward, which must have run with training = true.
  absl::Span<const float* const> inputs;
  const float* output = nullptr;
  absl::Span<const float* const> variables;
  absl::Span<const int32_t* const> masks;
  uint64_t random_key = 0;

  // The gradient with respect to the output. The kernel may overwrite it.
  float* output_gradient = nullptr;
  // If true, output_gradient is already the gradient with respect to the input of
  // Layer::activation().
  bool before_activation = false;
  // If not null, the loss's gradient with respect to the input of Layer::activation(), which the
  // kernel adds to what output_gradient, of other consumers, gives there.
  const float* logits_gradient = nullptr;
  // Where to write gradients. The kernel overwrites, it does not accumulate. Null if the gradient
  // is not needed or the variable is frozen. Moving statistics receive the batch's statistic, times
  // statistic_weight.
  absl::Span<float* const> input_gradients;
  absl::Span<float* const> variable_gradients;
  float statistic_weight = 1;  // Of the batch's statistic: see Model::Node.
};

// Computes one layer on one device for one batch size. Allocates memory in its constructor only.
// Used by one thread.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // INVALID_ARGUMENT if the inputs contain a value that the layer does not accept, such as an id
  // out of range.
  virtual absl::Status Forward(const ForwardArguments& arguments) = 0;
  virtual void Backward(const BackwardArguments& arguments) = 0;
  // The error of the last Forward, which had these arguments, if it wrote arguments.invalid. OK if
  // another kernel did. Waits for the device.
  virtual absl::Status FindInvalid(const ForwardArguments&) { return absl::OkStatus(); }
};

// Computes the loss of one output, its gradient and its metrics on one device. Used by one thread.
class LossKernel {
 public:
  virtual ~LossKernel() = default;

  // `batch` and `gradient` are those of Loss::Compute, except that the arrays are in device memory.
  // Writes to `results`, in device memory too, what Loss::Compute returns, followed by the state of
  // each metric for this batch alone. INVALID_ARGUMENT: a class label is out of range. `invalid` is
  // that of ForwardArguments.
  virtual absl::Status Compute(const Loss::Batch& batch, float* gradient, double* results,
                               double* invalid) = 0;
  // As Kernel::FindInvalid.
  virtual absl::Status FindInvalid(const Loss::Batch&) { return absl::OkStatus(); }
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_KERNEL_H_

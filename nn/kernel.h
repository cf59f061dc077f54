#ifndef CAIRN_NN_KERNEL_H_
#define CAIRN_NN_KERNEL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace cairn::nn {

// All pointers are to the device's memory: row-major, channels last, the batch outermost. Ids are
// int32 behind a float pointer.
struct ForwardArguments {
  absl::Span<const float* const> inputs;
  float* output = nullptr;
  absl::Span<const float* const> variables;
  // By input: one word for each step of each example, zero if the step does not count. Null: all
  // count. Empty if that is so of all inputs, or if the layer does not use masks.
  absl::Span<const int32_t* const> masks;
  bool training = false;
  // The key of every random draw of this layer in this batch.
  uint64_t random_key = 0;
};

struct BackwardArguments {
  // As they were and as they came out in the last Forward, which was a training one.
  absl::Span<const float* const> inputs;
  const float* output = nullptr;
  absl::Span<const float* const> variables;
  absl::Span<const int32_t* const> masks;
  uint64_t random_key = 0;

  // The kernel may overwrite it.
  float* output_gradient = nullptr;
  // True: output_gradient is already the gradient of what Layer::activation() was applied to.
  bool before_activation = false;
  // Overwritten, not added to. Null where nobody needs it. Frozen variables have null; moving
  // statistics get the batch's statistic.
  absl::Span<float* const> input_gradients;
  absl::Span<float* const> variable_gradients;
};

// One layer's work on one device for one batch size. Belongs to one thread. Allocates when it is
// created, not when it runs.
class Kernel {
 public:
  virtual ~Kernel() = default;

  // INVALID_ARGUMENT if the inputs hold what the layer cannot take (an id out of range).
  virtual absl::Status Forward(const ForwardArguments& arguments) = 0;
  virtual void Backward(const BackwardArguments& arguments) = 0;
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_KERNEL_H_

#ifndef CAIRN_TESTS_BENCHMARKS_MODELS_STEP_WORK_H_
#define CAIRN_TESTS_BENCHMARKS_MODELS_STEP_WORK_H_

#include <cstdint>

#include "nn/model.h"

namespace cairn {

// The minimal work of a training step.
struct StepWork {
  // Floating-point operations of the matrix products (a multiplication and an addition are two):
  // forward, gradients of the kernels, and gradients of the inputs except the model's inputs.
  double operations = 0;
  // Memory traffic without caching and fusion: each product or pooling reads its inputs and writes
  // its output, once forward and twice backward; element-wise layers count as part of their
  // neighbors. Values, gradients and slots are read and written.
  double bytes = 0;
};

// `slots`: the number of slots of the optimizer for each variable.
StepWork WorkOf(const nn::Model& model, int64_t batch_size, int slots);

}  // namespace cairn

#endif  // CAIRN_TESTS_BENCHMARKS_MODELS_STEP_WORK_H_

#ifndef CAIRN_TESTS_BENCHMARKS_MODELS_STEP_WORK_H_
#define CAIRN_TESTS_BENCHMARKS_MODELS_STEP_WORK_H_

#include <cstdint>

#include "nn/model.h"

namespace cairn {

// What a training step cannot do without.
struct StepWork {
  // Floating-point operations of the products (a multiplication and an addition are two): forward,
  // the gradients by the kernels, and those by the inputs except of the model's inputs.
  double operations = 0;
  // Of memory, if nothing stayed in the caches and nothing were fused: each product or pooling
  // reads its inputs and writes its output, once forward and twice backward; element-wise layers
  // are taken to be part of their neighbours. Values, gradients and slots are read and written.
  double bytes = 0;
};

// `slots` as the optimizer has for each variable.
StepWork WorkOf(const nn::Model& model, int64_t batch_size, int slots);

}  // namespace cairn

#endif  // CAIRN_TESTS_BENCHMARKS_MODELS_STEP_WORK_H_

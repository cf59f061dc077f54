#ifndef CAIRN_TESTS_NN_REFERENCE_MODEL_H_
#define CAIRN_TESTS_NN_REFERENCE_MODEL_H_

#include <cstdint>
#include <vector>

#include "nn/model.h"

namespace cairn::nn::testing {

using Doubles = std::vector<double>;

// What a model computes, in plain loops and double precision: the truth that devices are compared
// with. Slow, and meant to be read.
struct ReferenceBatch {
  int64_t size = 0;
  bool training = false;
  uint64_t random_key = 0;
  std::vector<Doubles> inputs;     // In the order of the model's inputs.
  std::vector<Doubles> variables;  // In the order of the model's variables.
};

// The model's output for the batch.
Doubles ReferenceOutput(const Model& model, const ReferenceBatch& batch);

// The regularizers' sum.
double ReferencePenalty(const Model& model, const std::vector<Doubles>& variables);

// An activation of `values`, whose last axis has `width` elements.
Doubles ReferenceActivation(const Activation& activation, int64_t width, Doubles values);

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_REFERENCE_MODEL_H_

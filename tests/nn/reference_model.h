#ifndef CAIRN_TESTS_NN_REFERENCE_MODEL_H_
#define CAIRN_TESTS_NN_REFERENCE_MODEL_H_

#include <cstdint>
#include <vector>

#include "nn/model.h"

namespace cairn::nn::testing {

using Doubles = std::vector<double>;

// A reference implementation of models in plain loops and double precision, against which devices
// are tested. Slow, written to be read.
struct ReferenceBatch {
  int64_t size = 0;
  bool training = false;
  uint64_t random_key = 0;
  std::vector<Doubles> inputs;     // In the order of the model's inputs.
  std::vector<Doubles> variables;  // In the order of the model's variables.
};

// The model's output for the batch.
Doubles ReferenceOutput(const Model& model, const ReferenceBatch& batch);

// The sum of all regularization penalties: those of variables, and those of outputs, of which an
// example has its share.
double ReferencePenalty(const Model& model, const ReferenceBatch& batch);

// Applies an activation to `values`, whose last axis has `width` elements.
Doubles ReferenceActivation(const Activation& activation, int64_t width, Doubles values);

}  // namespace cairn::nn::testing

#endif  // CAIRN_TESTS_NN_REFERENCE_MODEL_H_

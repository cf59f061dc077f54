#ifndef CAIRN_NN_SIGNATURE_H_
#define CAIRN_NN_SIGNATURE_H_

#include <cstddef>
#include <vector>

#include "nn/layers/string_lookup.h"
#include "nn/model.h"

namespace cairn::nn {

// The inputs and outputs of a model for which data are described and read: all of them or, for one
// of several sources with parts of the same examples, some. Copies point into the model, which must
// outlive them. Immutable, thread-safe.
//
//   Signature all = *model;
//   Signature images = all.Part({1}, {});  // Only the second input.
class Signature {
 public:
  // All inputs and outputs. Implicit: a model is described by its signature.
  Signature(const Model& model);  // NOLINT(google-explicit-constructor)

  // The inputs and outputs with these places in inputs() and outputs(), in this order.
  Signature Part(const std::vector<int>& inputs, const std::vector<int>& outputs) const;

  const std::vector<Model::Input>& inputs() const { return inputs_; }
  const std::vector<Model::Output>& outputs() const { return outputs_; }
  // The place of output number `output` in the outputs of the model.
  size_t PlaceInModel(size_t output) const { return places_[output]; }
  // As LookupOf of the model.
  const StringLookupLayer* lookup(int input) const { return lookups_[input]; }
  // As TakesText of the model.
  bool takes_text() const;

 private:
  Signature() = default;

  std::vector<Model::Input> inputs_;
  std::vector<const StringLookupLayer*> lookups_;  // By input.
  std::vector<Model::Output> outputs_;
  std::vector<size_t> places_;  // By output.
};

}  // namespace cairn::nn

#endif  // CAIRN_NN_SIGNATURE_H_

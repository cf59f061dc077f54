#include "nn/signature.h"

#include <algorithm>

#include "nn/text_input.h"

namespace cairn::nn {

Signature::Signature(const Model& model) : inputs_(model.inputs()), outputs_(model.outputs()) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    lookups_.push_back(LookupOf(model, static_cast<int>(i)));
  }
  for (size_t i = 0; i < outputs_.size(); ++i) places_.push_back(i);
}

Signature Signature::Part(const std::vector<int>& inputs, const std::vector<int>& outputs) const {
  Signature part;
  for (const int input : inputs) {
    part.inputs_.push_back(inputs_[input]);
    part.lookups_.push_back(lookups_[input]);
  }
  for (const int output : outputs) {
    part.outputs_.push_back(outputs_[output]);
    part.places_.push_back(places_[output]);
  }
  return part;
}

bool Signature::takes_text() const {
  return std::any_of(lookups_.begin(), lookups_.end(),
                     [](const StringLookupLayer* lookup) { return lookup != nullptr; });
}

}  // namespace cairn::nn

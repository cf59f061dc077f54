#ifndef CAIRN_NN_TEXT_INPUT_H_
#define CAIRN_NN_TEXT_INPUT_H_

#include "nn/layers/string_lookup.h"
#include "nn/model.h"

namespace cairn::nn {

// The layer by whose vocabulary the texts of input number `input` of the model are looked up; null
// if the input takes numbers. Whoever reads the data looks the texts up: the executor takes
// indices.
const StringLookupLayer* LookupOf(const Model& model, int input);

// True if an input of the model takes texts.
bool TakesText(const Model& model);

}  // namespace cairn::nn

#endif  // CAIRN_NN_TEXT_INPUT_H_

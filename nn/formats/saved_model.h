#ifndef CAIRN_NN_FORMATS_SAVED_MODEL_H_
#define CAIRN_NN_FORMATS_SAVED_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Writes a model for inference as the saved_model.pb of a TensorFlow SavedModel, the only element
// of the result. It has one graph with the weights as constants, the tag "serve", and the signature
// "serving_default", whose inputs and outputs have the names of their layers and a free first axis.
// `weights` are the model's variables, in order. InvalidArgument names the layer that this writer
// does not have: layers with a mask, RandomCrop, recurrent layers of more than
// 1000 steps, which are unrolled.
absl::StatusOr<std::vector<std::string>> WriteSavedModel(const proto::ModelSpec& spec,
                                                         absl::Span<const NamedTensor> weights);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_SAVED_MODEL_H_

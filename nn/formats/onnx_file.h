#ifndef CAIRN_NN_FORMATS_ONNX_FILE_H_
#define CAIRN_NN_FORMATS_ONNX_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "nn/formats/imported_model.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Writes a model for inference as an ONNX file, the only element of the result. Inputs and outputs
// have the names of their layers and the layouts of Keras (images: height, width, channels); the
// first axis of each is free. `weights` are the model's variables, in order. InvalidArgument names
// the layer that ONNX or this writer does not have: recurrent layers with a mask, RandomCrop.
absl::StatusOr<std::vector<std::string>> WriteOnnxFile(const proto::ModelSpec& spec,
                                                       absl::Span<const NamedTensor> weights);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_ONNX_FILE_H_

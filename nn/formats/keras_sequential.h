#ifndef CAIRN_NN_FORMATS_KERAS_SEQUENTIAL_H_
#define CAIRN_NN_FORMATS_KERAS_SEQUENTIAL_H_

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"
#include "nn/formats/keras_layer.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reads a Sequential model, {class_name, config}, as the chain that it means. A model that has no
// InputLayer gets one, named like Keras's ("FIRST_input"), from the shape that its first layer or
// the model itself states; without any shape it is refused.
absl::StatusOr<proto::ModelSpec> ReadKerasSequential(const JsonNode& model,
                                                     const ModelReader& read_model);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_SEQUENTIAL_H_

#ifndef CAIRN_NN_FORMATS_KERAS_SEQUENTIAL_H_
#define CAIRN_NN_FORMATS_KERAS_SEQUENTIAL_H_

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"
#include "nn/formats/keras_layer.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reads a Sequential model, {class_name, config}, as a chain of layers. If it has no InputLayer,
// one is added under Keras's name ("FIRST_input"), with the shape that the first layer or the model
// states. INVALID_ARGUMENT if there is no shape.
absl::StatusOr<proto::ModelSpec> ReadKerasSequential(const JsonNode& model,
                                                     const ModelReader& read_model);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_SEQUENTIAL_H_

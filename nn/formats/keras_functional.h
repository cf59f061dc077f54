#ifndef CAIRN_NN_FORMATS_KERAS_FUNCTIONAL_H_
#define CAIRN_NN_FORMATS_KERAS_FUNCTIONAL_H_

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"
#include "nn/formats/keras_layer.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reads a functional model, {class_name, config}. Expands the calls of its layers (see ExpandCalls)
// and sorts the layers topologically, keeping their order where possible. `read_model` reads models
// among its layers.
absl::StatusOr<proto::ModelSpec> ReadKerasFunctional(const JsonNode& model,
                                                     const ModelReader& read_model);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_FUNCTIONAL_H_

#ifndef CAIRN_NN_FORMATS_KERAS_FUNCTIONAL_H_
#define CAIRN_NN_FORMATS_KERAS_FUNCTIONAL_H_

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reads a functional model, {class_name, config}, and puts its layers into topological order; those
// that are in order already keep it. Shared layers and several outputs are refused.
absl::StatusOr<proto::ModelSpec> ReadKerasFunctional(const JsonNode& model);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_FUNCTIONAL_H_

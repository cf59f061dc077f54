#ifndef CAIRN_NN_FORMATS_KERAS_TOPOLOGY_H_
#define CAIRN_NN_FORMATS_KERAS_TOPOLOGY_H_

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reads a Keras architecture at any place in a JSON document. See ReadKerasJson.
absl::StatusOr<proto::ModelSpec> ReadKerasTopology(const JsonNode& node);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_TOPOLOGY_H_

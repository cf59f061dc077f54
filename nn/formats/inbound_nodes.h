#ifndef CAIRN_NN_FORMATS_INBOUND_NODES_H_
#define CAIRN_NN_FORMATS_INBOUND_NODES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"

namespace cairn::nn {

// How Keras writes connections between layers: [LAYER, CALL, OUTPUT] names an output of one call of
// a layer. Here every layer is called once and has one output, so both numbers must be 0.

// One connection, or a list of them: the names of the layers.
absl::StatusOr<std::vector<std::string>> ReadConnections(const JsonNode& node);

// "inbound_nodes", the calls of a layer: lists of connections (Keras 2) or {args, kwargs} that hold
// tensors (Keras 3). The inputs of the only call, or none if there is no call. Refused: several
// calls (a shared layer), and arguments of a call beside its inputs.
absl::StatusOr<std::vector<std::string>> ReadInboundNodes(const std::string& layer_name,
                                                          const JsonNode& node);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_INBOUND_NODES_H_

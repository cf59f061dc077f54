#ifndef CAIRN_NN_FORMATS_INBOUND_NODES_H_
#define CAIRN_NN_FORMATS_INBOUND_NODES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"

namespace cairn::nn {

// How Keras writes connections between layers: [LAYER, CALL, OUTPUT] names an output of one call of
// a layer.
struct TensorName {
  std::string layer;
  int64_t call = 0;
  int64_t output = 0;
};

// One call of a layer.
struct LayerCall {
  // Its tensors in order; `value` and `key` of an attention after the query.
  std::vector<TensorName> inputs;
  // Masks that Keras 3 writes out.
  std::vector<TensorName> masks;
  // training=False: it computes as in inference even in training.
  bool infers = false;
  bool use_causal_mask = false;
};

// One connection, or a list of them.
absl::StatusOr<std::vector<TensorName>> ReadConnections(const JsonNode& node);

// "inbound_nodes", the calls of a layer: lists of connections (Keras 2) or {args, kwargs} that hold
// tensors (Keras 3). Refused by name: arguments of a call that LayerCall has no word for.
absl::StatusOr<std::vector<LayerCall>> ReadInboundNodes(const JsonNode& node);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_INBOUND_NODES_H_

#ifndef CAIRN_NN_FORMATS_INBOUND_NODES_H_
#define CAIRN_NN_FORMATS_INBOUND_NODES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"

namespace cairn::nn {

// A connection between layers as Keras writes it: [LAYER, CALL, OUTPUT] names one output of one
// call of a layer.
struct TensorName {
  std::string layer;
  int64_t call = 0;
  int64_t output = 0;
};

// One call of a layer.
struct LayerCall {
  // The input tensors in order. For attention layers: query, value, key, attention mask. For
  // recurrent layers: the sequence, then the initial states.
  std::vector<TensorName> inputs;
  // Masks, which Keras 3 writes explicitly.
  std::vector<TensorName> masks;
  // True if called with training=False: the layer runs in inference mode even during training.
  bool inference_only = false;
  // True if called with training=True.
  bool always_trains = false;
  // The arguments of an attention's call which the layer has here, with the value true:
  // use_causal_mask, return_attention_scores, and attention_mask, whose tensor is an input.
  std::set<std::string> flags;
  // True if the layer does not use the mask of its input: Keras 3 gives a layer that is called with
  // initial states no mask, unless the call names one.
  bool ignores_mask = false;
  // True if the arguments that the call has by default are noted, too: of Keras 3.
  bool has_defaults = false;
};

// Reads one connection or a list of them.
absl::StatusOr<std::vector<TensorName>> ReadConnections(const JsonNode& node);

// Reads "inbound_nodes", the calls of a layer: lists of connections (Keras 2) or {args, kwargs}
// with tensors (Keras 3). Rejects call arguments that LayerCall does not represent.
absl::StatusOr<std::vector<LayerCall>> ReadInboundNodes(const JsonNode& node);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_INBOUND_NODES_H_

#ifndef CAIRN_NN_FORMATS_CALLED_LAYERS_H_
#define CAIRN_NN_FORMATS_CALLED_LAYERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/formats/inbound_nodes.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// A layer of a Keras model, or a model that is used as one, and how often it is called.
struct CalledLayer {
  std::string name;
  // One layer, or the model, whose inputs take what a call gives.
  proto::ModelSpec body;
  bool is_model = false;
  std::vector<LayerCall> calls;
  // What is said of it if something is wrong: "config.layers[3]".
  std::string place;
};

// Writes every call out: `spec` gets a layer for each call of each layer, and of each layer of each
// called model. What is called again is called NAME:1 and so on and says whose variables it shares;
// a called model's layers keep their names unless those are taken, then they are MODEL/NAME.
// `outputs` become spec's outputs. The layers are in no order.
absl::Status ExpandCalls(const std::vector<CalledLayer>& layers,
                         const std::vector<TensorName>& outputs, proto::ModelSpec* spec);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_CALLED_LAYERS_H_

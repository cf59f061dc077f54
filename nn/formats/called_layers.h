#ifndef CAIRN_NN_FORMATS_CALLED_LAYERS_H_
#define CAIRN_NN_FORMATS_CALLED_LAYERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/formats/inbound_nodes.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// A layer of a Keras model, or a model used as a layer, with its calls.
struct CalledLayer {
  std::string name;
  // The layer, or the model whose inputs a call provides.
  proto::ModelSpec body;
  bool is_model = false;
  std::vector<LayerCall> calls;
  // The place in the file, for error messages: "config.layers[3]".
  std::string place;
};

// Expands calls: `spec` gets one layer per call of each layer, and one per call of each layer of
// each called model. Further calls are named NAME:1, NAME:2, ... and name the layer whose variables
// they share. The layers of a called model keep their names unless a name is taken; then it becomes
// MODEL/NAME. Output K of a layer with return_state is a LayerOutput that is named NAME.K, and is
// added if it is used (see nn/layers/layer_output.h). `outputs` become spec's outputs. The layers
// are not sorted.
absl::Status ExpandCalls(const std::vector<CalledLayer>& layers,
                         const std::vector<TensorName>& outputs, proto::ModelSpec* spec);

// True if the layer, or the one that it wraps, has return_state.
bool ReturnsStates(const proto::LayerSpec& layer);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_CALLED_LAYERS_H_

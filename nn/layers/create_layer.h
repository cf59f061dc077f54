#ifndef CAIRN_NN_LAYERS_CREATE_LAYER_H_
#define CAIRN_NN_LAYERS_CREATE_LAYER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/tensor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Creates the layer that `spec` describes, for inputs of these shapes and types (of one example
// each). INVALID_ARGUMENT names the layer and its class; for an unknown class or argument it lists
// the known ones.
absl::StatusOr<std::unique_ptr<const Layer>> CreateLayer(const proto::LayerSpec& spec,
                                                         std::vector<TensorSpec> inputs);
// The same, and the layers of nn/layers/preparation.h.
absl::StatusOr<std::unique_ptr<const Layer>> CreateLayerForExport(const proto::LayerSpec& spec,
                                                                  std::vector<TensorSpec> inputs);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CREATE_LAYER_H_

#ifndef CAIRN_NN_LAYERS_CREATE_LAYER_H_
#define CAIRN_NN_LAYERS_CREATE_LAYER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "nn/layer.h"
#include "nn/tensor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// The layer that `spec` describes, for inputs like `inputs` (one example of each). INVALID_ARGUMENT
// names the layer and its class, and lists what is known if class or argument are not.
absl::StatusOr<std::unique_ptr<const Layer>> CreateLayer(const proto::LayerSpec& spec,
                                                         std::vector<TensorSpec> inputs);

}  // namespace cairn::nn

#endif  // CAIRN_NN_LAYERS_CREATE_LAYER_H_

#ifndef CAIRN_NN_FORMATS_TFJS_LAYER_CONFIG_H_
#define CAIRN_NN_FORMATS_TFJS_LAYER_CONFIG_H_

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Returns a layer's config, including its name, in TF.js's spelling where it differs from Keras's:
// input shapes, L1 and L2 regularizers, LeakyReLU's slope, swish, LeCun's initializers.
// INVALID_ARGUMENT if TF.js would ignore an argument that changes the result.
absl::StatusOr<nlohmann::json> TfjsLayerConfig(const proto::LayerSpec& layer);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_TFJS_LAYER_CONFIG_H_

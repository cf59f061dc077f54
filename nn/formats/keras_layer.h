#ifndef CAIRN_NN_FORMATS_KERAS_LAYER_H_
#define CAIRN_NN_FORMATS_KERAS_LAYER_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nn/formats/called_layers.h"
#include "nn/formats/json_node.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// A layer as Keras writes it, {class_name, config}, read into the dialect of ReadKerasJson; its
// connections are not set. A layer that is a model itself is refused.
absl::StatusOr<proto::LayerSpec> ReadKerasLayer(const JsonNode& node);

// Reads a model that is a layer of another.
using ModelReader = std::function<absl::StatusOr<proto::ModelSpec>(const JsonNode& node)>;

// A layer, or the model that it is; its calls are not set.
absl::StatusOr<CalledLayer> ReadLayerOrModel(const JsonNode& node, const ModelReader& read_model);

// The input shape (batch axis first) that a layer or a Sequential model says of itself, if any.
std::optional<JsonNode> StatedInputShape(const JsonNode& config);

// An InputLayer of that shape; its batch axis is left open whatever `batch_shape` says.
absl::StatusOr<proto::LayerSpec> MakeInputLayer(const std::string& name,
                                                const JsonNode& batch_shape,
                                                const std::string& dtype);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_LAYER_H_

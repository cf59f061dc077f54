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

// Reads a layer, {class_name, config}, into the dialect of ReadKerasJson. Its connections are not
// set. Rejects models.
absl::StatusOr<proto::LayerSpec> ReadKerasLayer(const JsonNode& node);

// A function that reads a model used as a layer.
using ModelReader = std::function<absl::StatusOr<proto::ModelSpec>(const JsonNode& node)>;

// Reads a layer or a model used as a layer. Its calls are not set. An RNN of several cells becomes
// a model of an RNN for each cell, which has the name of the cell.
absl::StatusOr<CalledLayer> ReadLayerOrModel(const JsonNode& node, const ModelReader& read_model);

// The input shape (batch axis first) stated in the config of a layer or Sequential model, if any.
std::optional<JsonNode> StatedInputShape(const JsonNode& config);

// Creates an InputLayer of this shape. The batch axis is null, whatever `batch_shape` has.
absl::StatusOr<proto::LayerSpec> MakeInputLayer(const std::string& name,
                                                const JsonNode& batch_shape,
                                                const std::string& dtype);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_LAYER_H_

#ifndef CAIRN_NN_FORMATS_KERAS_JSON_H_
#define CAIRN_NN_FORMATS_KERAS_JSON_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reads a Keras architecture as written by `model.to_json()`: Keras 2 and 3, Sequential and
// functional. Layers are converted to one dialect:
// - Every model starts with InputLayers. Their config has exactly `batch_shape` (first entry null,
//   the others as written) and `dtype` ("float32", "int32", "int64" or "uint8").
// - Other configs hold Keras's arguments without `name`, `dtype` (which must be float32) and input
//   shapes, and without arguments that are null (where null is Keras's default), except
//   `*_initializer` and `merge_mode`.
// - Objects are {class_name, config}; built-in functions are their names and tuples are lists.
// - hard_sigmoid is the function of Keras 3; that of Keras 2 and TensorFlow.js is
//   hard_sigmoid_keras2.
// - Models among the layers, and all calls of a layer that is called several times, are expanded
//   (see ExpandCalls).
//
// INVALID_ARGUMENT names the place in the JSON and the reason. Model::Create checks whether a
// layer's class and arguments are known.
absl::StatusOr<proto::ModelSpec> ReadKerasJson(std::string_view json);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_JSON_H_

#ifndef CAIRN_NN_FORMATS_KERAS_JSON_H_
#define CAIRN_NN_FORMATS_KERAS_JSON_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "proto/model.pb.h"

namespace cairn::nn {

// Reads a Keras architecture, what `model.to_json()` writes: Keras 2 and 3, Sequential and
// functional. Layers come out in one dialect:
// - Every model begins with InputLayers. Their config has exactly `batch_shape` (the first entry
//   null, the others as written) and `dtype` ("float32", "int32", "int64" or "uint8").
// - Other configs hold Keras's arguments without `name`, `dtype` (float32, or the model is refused)
//   and input shapes, and without arguments that are null (Keras's default, whatever may be null),
//   except `*_initializer`.
// - Objects are {class_name, config}; built-in functions and tuples are their names and lists.
//
// INVALID_ARGUMENT carries the place in the JSON and the reason; nested models, shared layers and
// several outputs are refused by name. Whether a layer's class and arguments are known is for
// Model::Create.
absl::StatusOr<proto::ModelSpec> ReadKerasJson(std::string_view json);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_JSON_H_

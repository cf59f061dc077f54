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
//   except `*_initializer` and `merge_mode`.
// - Objects are {class_name, config}; built-in functions and tuples are their names and lists.
// - hard_sigmoid is Keras 3's; that of Keras 2 and TensorFlow.js is hard_sigmoid_keras2.
// - Models among the layers are written out in their place, and so is every call of a layer that is
//   called several times (see ExpandCalls).
//
// INVALID_ARGUMENT carries the place in the JSON and the reason. Whether a layer's class and
// arguments are known is for Model::Create.
absl::StatusOr<proto::ModelSpec> ReadKerasJson(std::string_view json);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_KERAS_JSON_H_

#ifndef CAIRN_NN_FORMATS_STRUCT_JSON_H_
#define CAIRN_NN_FORMATS_STRUCT_JSON_H_

#include <google/protobuf/struct.pb.h>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"

namespace cairn::nn {

// Converts a JSON value to a protobuf Value and removes Keras's wrappers: a tuple or TensorShape
// becomes a list, a built-in function its name, and any other object with class_name and config
// loses `module` and `registered_name`.
//
// INVALID_ARGUMENT if nested deeper than 16 levels: messages that contain the result must stay
// below protobuf's nesting limit, so that the receiver can parse them.
absl::StatusOr<google::protobuf::Value> ValueFromJson(const JsonNode& node);

// The inverse for plain values. Whole numbers become JSON integers.
nlohmann::json JsonFromValue(const google::protobuf::Value& value);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_STRUCT_JSON_H_

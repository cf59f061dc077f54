#ifndef CAIRN_NN_FORMATS_STRUCT_JSON_H_
#define CAIRN_NN_FORMATS_STRUCT_JSON_H_

#include <google/protobuf/struct.pb.h>

#include <nlohmann/json_fwd.hpp>

#include "absl/status/statusor.h"
#include "nn/formats/json_node.h"

namespace cairn::nn {

// A JSON value as a protobuf Value. Keras's wrappers are taken off on the way: a tuple or a
// TensorShape becomes a list, a built-in function its name, any other object with class_name and
// config loses `module` and `registered_name`.
//
// INVALID_ARGUMENT if nested deeper than 16 levels: a message that holds the result must stay below
// protobuf's own limit on nesting to be read at the other end of a connection.
absl::StatusOr<google::protobuf::Value> ValueFromJson(const JsonNode& node);

// Whole numbers are printed as such.
nlohmann::json JsonFromValue(const google::protobuf::Value& value);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_STRUCT_JSON_H_

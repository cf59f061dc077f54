#ifndef CAIRN_CLI_JSON_TO_MESSAGE_H_
#define CAIRN_CLI_JSON_TO_MESSAGE_H_

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace google::protobuf {
class Message;
}

namespace cairn::cli {

// Fills `message` from a JSON object whose keys are the names of the message's fields.
// Strict: an unknown field, a wrong type, a number out of range, or two members of one oneof are
// InvalidArgument. The error contains the path ("train.idx.features[1]"), the value and what is
// expected.
// Three shorthands are accepted:
//   - a string for a message that has a field `name`: stands for {"name": STRING};
//   - a single value for a list: stands for a list with this value;
//   - an object for a field NUMBER, if there is a field NUMBER_schedule: the value of that field.
// Supports strings, bools, numbers and messages, single and repeated, and maps with integer keys.
absl::Status JsonToMessage(const nlohmann::json& json, google::protobuf::Message* message);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_JSON_TO_MESSAGE_H_

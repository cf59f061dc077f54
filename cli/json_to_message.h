#ifndef CAIRN_CLI_JSON_TO_MESSAGE_H_
#define CAIRN_CLI_JSON_TO_MESSAGE_H_

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace google::protobuf {
class Message;
}

namespace cairn::cli {

// Fills `message` from the fields of a JSON object, by the message's own field names, strictly:
// an unknown field, a wrong type, a number that does not fit or two members of one oneof are
// InvalidArgument, saying the path ("train.idx.features[1]"), the value and what is expected.
// Three shorthands stand for the long form:
//   - a string where a message is expected that has a field `name`: {"name": THAT};
//   - anything but a list where a list is expected: a list of one;
//   - an object for a field NUMBER that has a field NUMBER_schedule beside it: that one.
// Knows strings, bools, numbers and messages, single and repeated.
absl::Status JsonToMessage(const nlohmann::json& json, google::protobuf::Message* message);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_JSON_TO_MESSAGE_H_

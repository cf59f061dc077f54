#ifndef CAIRN_CLI_UNKNOWN_FIELD_H_
#define CAIRN_CLI_UNKNOWN_FIELD_H_

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace google::protobuf {
class Descriptor;
}

namespace cairn::cli {

// Whether a job file says the field by its own name. Some stand in the message in another form than
// in the file.
bool IsSaidByName(const std::string& field);

// What is said of `key`, a field of `object` that messages of this type do not have. `path` is the
// object's, empty for the whole file. InvalidArgument, the first of these that applies:
//   - the object's "name" is of no loss, metric, optimizer, schedule or callback: the name;
//   - the key is a word of Keras: what to say in its place (nn/keras_words.h);
//   - the key resembles a field: that one;
//   - else all fields.
absl::Status UnknownField(const std::string& path, const std::string& key,
                          const nlohmann::json& object, const google::protobuf::Descriptor& type);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_UNKNOWN_FIELD_H_

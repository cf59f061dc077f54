#ifndef CAIRN_CLI_UNKNOWN_FIELD_H_
#define CAIRN_CLI_UNKNOWN_FIELD_H_

#include <string>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"

namespace google::protobuf {
class Descriptor;
class FieldDescriptor;
}  // namespace google::protobuf

namespace cairn::cli {

// True if a job file sets the field by its own name. Some fields of messages have another form in
// the file.
bool IsJobFileField(const google::protobuf::FieldDescriptor& field);

// The error for `key`, a field of `object` that messages of this type do not have. `path` is the
// path of the object, empty for the whole file. InvalidArgument, with the first hint that applies:
//   - the object's "name" is not a known loss, metric, optimizer, schedule or callback: the known
//     names;
//   - the key is a word of Keras: what replaces it (nn/keras_words.h);
//   - the key resembles the name of a field: that name;
//   - otherwise: the names of all fields.
absl::Status UnknownField(const std::string& path, const std::string& key,
                          const nlohmann::json& object, const google::protobuf::Descriptor& type);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_UNKNOWN_FIELD_H_

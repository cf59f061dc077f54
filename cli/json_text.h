#ifndef CAIRN_CLI_JSON_TEXT_H_
#define CAIRN_CLI_JSON_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {

enum class Comments { kRefused, kIgnored };

// Parses JSON as RFC 8259 has it (no NaN), with // and /* */ comments if they are wanted.
// InvalidArgument: with line and column, or,
// for a key that stands twice in one object (which most parsers let pass), with its path.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text,
                                         Comments comments = Comments::kRefused);

// `value` as JSON for a message to people: cut short when it is long.
std::string ShortJson(const nlohmann::json& value);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_JSON_TEXT_H_

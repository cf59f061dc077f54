#ifndef CAIRN_CLI_JSON_TEXT_H_
#define CAIRN_CLI_JSON_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace cairn::cli {

enum class Comments { kRefused, kIgnored };

// Parses JSON (RFC 8259, so without NaN). `comments`: whether // and /* */ comments are allowed.
// InvalidArgument contains the line and column of a syntax error, or the path of a key that appears
// twice in one object (most parsers accept that), or says that the nesting has more than 100
// levels.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text,
                                         Comments comments = Comments::kRefused);

// `value` as JSON for a message, cut if it is long.
std::string ShortJson(const nlohmann::json& value);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_JSON_TEXT_H_

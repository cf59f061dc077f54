#ifndef CAIRN_NN_FORMATS_JSON_TEXT_H_
#define CAIRN_NN_FORMATS_JSON_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cairn::nn {

// Parses and prints JSON for all of nn/formats; exceptions of the JSON library do not leave these
// functions.

// INVALID_ARGUMENT names line, column and reason; also returned for text nested deeper than 100
// levels.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text);

// Invalid UTF-8 is replaced by U+FFFD.
std::string PrintJson(const nlohmann::json& json);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_JSON_TEXT_H_

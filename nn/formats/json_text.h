#ifndef CAIRN_NN_FORMATS_JSON_TEXT_H_
#define CAIRN_NN_FORMATS_JSON_TEXT_H_

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cairn::nn {

// The only place where JSON is parsed and printed, and where the library's exceptions end.

// INVALID_ARGUMENT says line, column and reason; also for text nested deeper than any model is.
absl::StatusOr<nlohmann::json> ParseJson(std::string_view text);

// Bytes that are not UTF-8 come out as U+FFFD.
std::string PrintJson(const nlohmann::json& json);

}  // namespace cairn::nn

#endif  // CAIRN_NN_FORMATS_JSON_TEXT_H_

#ifndef CAIRN_COMMON_JSON_ERROR_TEXT_H_
#define CAIRN_COMMON_JSON_ERROR_TEXT_H_

#include <string>

namespace cairn {

// Shortens `what`, the message of a nlohmann::json parse error, to the location and the reason.
std::string JsonErrorText(const std::string& what);

}  // namespace cairn

#endif  // CAIRN_COMMON_JSON_ERROR_TEXT_H_

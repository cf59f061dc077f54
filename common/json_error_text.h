#ifndef CAIRN_COMMON_JSON_ERROR_TEXT_H_
#define CAIRN_COMMON_JSON_ERROR_TEXT_H_

#include <string>

namespace cairn {

// Why a text is no JSON, in this project's words: where, and what is wrong there. `what` is what an
// exception of nlohmann's parser says.
std::string JsonErrorText(const std::string& what);

}  // namespace cairn

#endif  // CAIRN_COMMON_JSON_ERROR_TEXT_H_

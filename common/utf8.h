#ifndef CAIRN_COMMON_UTF8_H_
#define CAIRN_COMMON_UTF8_H_

#include <cstddef>
#include <string_view>

namespace cairn {

// The length in bytes of the UTF-8 character at the beginning of `text`, or 0 if there is none.
// UTF-8 is what RFC 3629 allows: shortest forms, no surrogates, nothing above U+10FFFF.
size_t Utf8Length(std::string_view text);

// Whether `text` is valid UTF-8. Protobuf requires it of `string` fields: a receiver cannot parse a
// message with any other bytes in one.
bool IsUtf8(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_COMMON_UTF8_H_

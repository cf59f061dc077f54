#ifndef CAIRN_COMMON_UTF8_H_
#define CAIRN_COMMON_UTF8_H_

#include <cstddef>
#include <string_view>

namespace cairn {

// Bytes of the UTF-8 character (RFC 3629: shortest forms only, no surrogates, nothing above
// U+10FFFF) that `text` begins with; 0 if it begins with none.
size_t Utf8Length(std::string_view text);

// Whether all of `text` is UTF-8, as protobuf demands of a `string`: a message with any other
// cannot be read by whoever gets it.
bool IsUtf8(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_COMMON_UTF8_H_

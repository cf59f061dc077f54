#include "common/utf8.h"

#include <cstdint>

namespace cairn {
namespace {

struct Range {
  uint8_t least = 0x80;
  uint8_t most = 0xbf;
};

// The valid range of the second byte, by RFC 3629, section 4. Later bytes have the default range.
Range SecondByte(uint8_t first) {
  switch (first) {
    case 0xe0:
      return {0xa0, 0xbf};  // Otherwise an overlong form.
    case 0xed:
      return {0x80, 0x9f};  // Otherwise a surrogate.
    case 0xf0:
      return {0x90, 0xbf};  // Otherwise an overlong form.
    case 0xf4:
      return {0x80, 0x8f};  // Otherwise above U+10FFFF.
    default:
      return {};
  }
}

size_t LengthByFirst(uint8_t first) {
  if (first < 0x80) return 1;
  if (first < 0xc2) return 0;
  if (first < 0xe0) return 2;
  if (first < 0xf0) return 3;
  return first < 0xf5 ? 4 : 0;
}

}  // namespace

size_t Utf8Length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<uint8_t>(text[0]);
  const size_t length = LengthByFirst(first);
  if (length > text.size()) return 0;
  Range range = SecondByte(first);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < range.least || byte > range.most) return 0;
    range = Range();
  }
  return length;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace cairn

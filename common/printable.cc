#include "common/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "common/utf8.h"

namespace cairn {

std::string Printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const bool is_control = length == 1 && absl::ascii_iscntrl(text[0]) && text[0] != '\n';
    if (length == 0 || is_control) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<uint8_t>(text[0]));
    } else {
      result.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

}  // namespace cairn

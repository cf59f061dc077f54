#include "common/printable.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "common/utf8.h"

namespace cairn {
namespace {

std::string Escaped(std::string_view text, std::string_view end_of_line) {
  std::string result;
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (text[0] == '\n') {
      result += end_of_line;
    } else if (length == 0 || absl::ascii_iscntrl(text[0])) {
      absl::StrAppendFormat(&result, "\\x%02x", static_cast<uint8_t>(text[0]));
    } else {
      result.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

}  // namespace

std::string Printable(std::string_view text) { return Escaped(text, "\n"); }

std::string PrintableLine(std::string_view text) { return Escaped(text, "\\n"); }

}  // namespace cairn

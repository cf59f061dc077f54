#ifndef CAIRN_COMMON_PRINTABLE_H_
#define CAIRN_COMMON_PRINTABLE_H_

#include <string>
#include <string_view>

namespace cairn {

// Makes a message safe to print on a terminal: control characters other than newlines, and bytes
// that are not UTF-8, become \xNN. Messages quote user input, which may be any bytes.
std::string Printable(std::string_view text);

// The same for text that must stay on one line, such as a name: newlines become \n.
std::string PrintableLine(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_COMMON_PRINTABLE_H_

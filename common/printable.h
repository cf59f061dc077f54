#ifndef CAIRN_COMMON_PRINTABLE_H_
#define CAIRN_COMMON_PRINTABLE_H_

#include <string>
#include <string_view>

namespace cairn {

// A message as it may go to a terminal. Messages quote what was wrong, which may be anything:
// control characters but for ends of lines, and bytes that are no UTF-8, become \xNN.
std::string Printable(std::string_view text);

// The same for what should be one line, such as a name: an end of a line becomes \n.
std::string PrintableLine(std::string_view text);

}  // namespace cairn

#endif  // CAIRN_COMMON_PRINTABLE_H_

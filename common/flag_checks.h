#ifndef CAIRN_COMMON_FLAG_CHECKS_H_
#define CAIRN_COMMON_FLAG_CHECKS_H_

#include <cstdint>
#include <functional>
#include <string>

namespace cairn {

// What CLI11's check() takes: the reason why a flag's text is refused, or "".
using FlagCheck = std::function<std::string(const std::string&)>;

// A whole number from `least` to `most`: else '"two" is not a whole number from 1 to 64'.
FlagCheck WholeNumber(int64_t least, int64_t most);

// A finite number from `least` to `most`.
FlagCheck Number(double least, double most);
// Any finite number.
FlagCheck Number();

// Anything but nothing: "" is most often a shell's variable that was never set. `is_required`: it
// may not be left out either.
FlagCheck NotEmpty(bool is_required = false);

// A refusal of CLI11's in this project's words: "--state: 1 required TEXT missing" becomes "--state
// needs a value". Others stay as they are.
std::string FlagErrorText(const std::string& message);

}  // namespace cairn

#endif  // CAIRN_COMMON_FLAG_CHECKS_H_

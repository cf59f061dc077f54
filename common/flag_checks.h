#ifndef CAIRN_COMMON_FLAG_CHECKS_H_
#define CAIRN_COMMON_FLAG_CHECKS_H_

#include <cstdint>
#include <functional>
#include <string>

namespace cairn {

// A validator for CLI11's check(): returns "" if the flag's value is valid, else the reason.
using FlagCheck = std::function<std::string(const std::string&)>;

// Accepts an integer in [least, most]. Otherwise: '"two" is not a whole number from 1 to 64'.
FlagCheck WholeNumber(int64_t least, int64_t most);

// Accepts a finite number in [least, most].
FlagCheck Number(double least, double most);
// Accepts any finite number.
FlagCheck Number();

// Rejects "", which is usually an unset shell variable. With `is_required` the message does not
// suggest that the flag can be omitted.
FlagCheck NotEmpty(bool is_required = false);

// Rewrites CLI11's message for a missing value, a repeated flag or an exclusion: "--state: 1
// required TEXT missing" becomes "--state needs a value". Other messages are returned unchanged.
std::string FlagErrorText(const std::string& message);

}  // namespace cairn

#endif  // CAIRN_COMMON_FLAG_CHECKS_H_

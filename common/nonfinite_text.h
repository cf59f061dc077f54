#ifndef CAIRN_COMMON_NONFINITE_TEXT_H_
#define CAIRN_COMMON_NONFINITE_TEXT_H_

#include <cmath>
#include <string>

namespace cairn {

// "nan", whatever its sign, "inf" or "-inf". `value` is not finite.
inline std::string NonfiniteText(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace cairn

#endif  // CAIRN_COMMON_NONFINITE_TEXT_H_

#ifndef CAIRN_COMMON_VERSION_H_
#define CAIRN_COMMON_VERSION_H_

namespace cairn {

// Cairn's version. Programs of different versions refuse each other, naming both.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace cairn

#endif  // CAIRN_COMMON_VERSION_H_

#ifndef CAIRN_COMMON_VERSION_H_
#define CAIRN_COMMON_VERSION_H_

namespace cairn {

// Cairn's version. Processes of different versions refuse to talk to each other and name both
// versions.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace cairn

#endif  // CAIRN_COMMON_VERSION_H_

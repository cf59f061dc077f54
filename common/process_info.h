#ifndef CAIRN_COMMON_PROCESS_INFO_H_
#define CAIRN_COMMON_PROCESS_INFO_H_

#include <cstdint>
#include <string>

namespace cairn {

// The memory that this process really occupies ("RSS"); 0 if the system does not say.
int64_t ResidentMemoryBytes();

// This machine's name, as `hostname` prints it; "" if it has none.
std::string HostName();

}  // namespace cairn

#endif  // CAIRN_COMMON_PROCESS_INFO_H_

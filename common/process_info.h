#ifndef CAIRN_COMMON_PROCESS_INFO_H_
#define CAIRN_COMMON_PROCESS_INFO_H_

#include <cstdint>
#include <string>

namespace cairn {

// The resident set size of this process in bytes; 0 if the system does not report it.
int64_t ResidentMemoryBytes();

// The machine's host name, as `hostname` prints it; "" if unknown.
std::string HostName();

}  // namespace cairn

#endif  // CAIRN_COMMON_PROCESS_INFO_H_

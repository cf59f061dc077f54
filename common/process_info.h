#ifndef CAIRN_COMMON_PROCESS_INFO_H_
#define CAIRN_COMMON_PROCESS_INFO_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace cairn {

// The resident set size of this process in bytes; 0 if the system does not report it.
int64_t ResidentMemoryBytes();

// The most memory that this process can ever have: the machine's, the limit of its control groups
// or RLIMIT_AS, whichever is lowest. 0 if unknown.
int64_t MemoryLimitBytes();

// Programs with threads and gRPC reserve far more addresses than they use memory: stacks, arenas of
// malloc. Below this they may end with abort() wherever a thread is created.
inline constexpr int64_t kAddressSpaceMin = int64_t{2} << 30;

// FailedPrecondition: RLIMIT_AS is below kAddressSpaceMin. Names the limit and the fix.
absl::Status CheckAddressSpace();

// The machine's host name, as `hostname` prints it; "" if unknown.
std::string HostName();

}  // namespace cairn

#endif  // CAIRN_COMMON_PROCESS_INFO_H_

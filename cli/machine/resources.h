#ifndef CAIRN_CLI_MACHINE_RESOURCES_H_
#define CAIRN_CLI_MACHINE_RESOURCES_H_

#include <cstdint>
#include <string>

#include "cli/machine/check.h"

namespace cairn::cli {

// Checks that the processor has the instructions that Cairn's kernels are compiled for. `cpuinfo`
// has the contents of /proc/cpuinfo, `cores` is the number that this process may use.
Check CheckProcessor(const std::string& cpuinfo, unsigned cores);

// Checks the available memory. `meminfo` has the contents of /proc/meminfo.
Check CheckMemory(const std::string& meminfo);

// Checks `limit`, the number of files and connections that a process may have open.
Check CheckDescriptors(uint64_t limit);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_RESOURCES_H_

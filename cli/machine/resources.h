#ifndef CAIRN_CLI_MACHINE_RESOURCES_H_
#define CAIRN_CLI_MACHINE_RESOURCES_H_

#include <cstdint>
#include <string>

#include "cli/machine/check.h"

namespace cairn::cli {

// Whether the processor has the instructions for which Cairn's kernels are compiled. `cpuinfo` is
// /proc/cpuinfo, `cores` how many this process may use.
Check CheckProcessor(const std::string& cpuinfo, unsigned cores);

// Memory that is still free. `meminfo` is /proc/meminfo.
Check CheckMemory(const std::string& meminfo);

// How many files and connections a process may have open.
Check CheckDescriptors(uint64_t limit);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_RESOURCES_H_

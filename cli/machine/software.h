#ifndef CAIRN_CLI_MACHINE_SOFTWARE_H_
#define CAIRN_CLI_MACHINE_SOFTWARE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/machine/check.h"

namespace cairn::cli {

// Whether the daemons are where `cairn` looks for them (see FindProgram), start, and are of its
// version. Starts each once with --version; `environment` is theirs, and one that has not ended
// after `patience` is killed.
std::vector<Check> CheckPrograms(const std::string& programs_folder,
                                 const std::vector<std::string>& environment,
                                 absl::Duration patience = absl::Seconds(10));

// The shared libraries that this process has loaded, of those that Cairn is built on, with their
// versions.
Check CheckLibraries();

// Whether there is a GPU that a worker could use.
Check CheckGpu();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_SOFTWARE_H_

#ifndef CAIRN_CLI_MACHINE_SOFTWARE_H_
#define CAIRN_CLI_MACHINE_SOFTWARE_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/machine/check.h"

namespace cairn::cli {

// Checks that the daemons are where `cairn` looks for them (see FindProgram), that they start, and
// that they have its version. Runs each once with --version and `environment`, and kills it if it
// has not ended after `patience`.
std::vector<Check> CheckPrograms(const std::string& programs_folder,
                                 const std::vector<std::string>& environment,
                                 absl::Duration patience = absl::Seconds(10));

// Lists the shared libraries of Cairn's dependencies that this process has loaded, with versions.
Check CheckLibraries();

// Checks whether there is a GPU that a worker could use.
Check CheckGpu();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_SOFTWARE_H_

#ifndef CAIRN_CLI_LOCAL_PROGRAMS_H_
#define CAIRN_CLI_LOCAL_PROGRAMS_H_

#include <string>

#include "absl/status/statusor.h"

namespace cairn::cli {

// The path of a sibling program ("coordinator", "ps_server", "worker"): beside the program in
// `folder`, as an installation has it, or where a build puts it (../NAME/NAME). NotFound names both
// places and how to build it.
absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name);

// The folder of the program that this process runs.
absl::StatusOr<std::string> OwnFolder();

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_PROGRAMS_H_

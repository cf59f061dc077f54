#ifndef CAIRN_CLUSTER_PROGRAMS_H_
#define CAIRN_CLUSTER_PROGRAMS_H_

#include <string>

#include "absl/status/statusor.h"

namespace cairn::cluster {

// The path of a sibling program ("coordinator", "ps_server", "worker"). It is in `folder`, as in an
// installation, or at ../NAME/NAME, as in a build. NotFound names both places and the command that
// builds it.
absl::StatusOr<std::string> FindProgram(const std::string& folder, const std::string& name);

// The folder of the program that this process runs.
absl::StatusOr<std::string> OwnFolder();

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_PROGRAMS_H_

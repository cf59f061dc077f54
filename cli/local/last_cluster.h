#ifndef CAIRN_CLI_LOCAL_LAST_CLUSTER_H_
#define CAIRN_CLI_LOCAL_LAST_CLUSTER_H_

#include <string>

#include "absl/status/status.h"

namespace cairn::cli {

// Stores the state directory of this user's newest `cairn up`, so that commands find its cluster
// from any directory. `user_folder` is CommandContext's; if it is empty, nothing is stored.

absl::Status RememberLastCluster(const std::string& user_folder, const std::string& state);

// "" if none is stored or it cannot be read.
std::string LastCluster(const std::string& user_folder);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_LAST_CLUSTER_H_

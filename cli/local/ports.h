#ifndef CAIRN_CLI_LOCAL_PORTS_H_
#define CAIRN_CLI_LOCAL_PORTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cli {

// `count` different loopback addresses that nobody listens on. Those of `wanted` come first, in
// order, as far as they are free; the others get ports of the system's choice. They are only
// probable: somebody else may take them before they are used.
absl::StatusOr<std::vector<std::string>> ChooseAddresses(const std::vector<std::string>& wanted,
                                                         int count);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_PORTS_H_

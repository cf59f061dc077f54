#ifndef CAIRN_CLI_LOCAL_PORTS_H_
#define CAIRN_CLI_LOCAL_PORTS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace cairn::cli {

// `count` different loopback addresses on which nobody listens. They are those of `wanted`, in
// order, as far as they are free; the system chooses the others. No other process that calls this
// chooses them, as long as this one lives; another program may take an address before it is used.
absl::StatusOr<std::vector<std::string>> ChooseAddresses(const std::vector<std::string>& wanted,
                                                         int count);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_PORTS_H_

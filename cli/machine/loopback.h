#ifndef CAIRN_CLI_MACHINE_LOOPBACK_H_
#define CAIRN_CLI_MACHINE_LOOPBACK_H_

#include "cli/machine/check.h"

namespace cairn::cli {

// Whether local daemons can get ports and talk to each other: takes as many ports of 127.0.0.1 as
// a local cluster of `tasks` needs, and sends a byte there and back over one.
Check CheckLoopback(int tasks);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_LOOPBACK_H_

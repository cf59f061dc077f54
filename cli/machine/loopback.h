#ifndef CAIRN_CLI_MACHINE_LOOPBACK_H_
#define CAIRN_CLI_MACHINE_LOOPBACK_H_

#include "cli/machine/check.h"

namespace cairn::cli {

// Checks that local daemons can get ports and connect to each other. Reserves as many ports of
// 127.0.0.1 as a local cluster of `tasks` tasks needs, and measures a round trip of one byte.
Check CheckLoopback(int tasks);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_LOOPBACK_H_

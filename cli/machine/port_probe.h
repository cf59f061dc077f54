#ifndef CAIRN_CLI_MACHINE_PORT_PROBE_H_
#define CAIRN_CLI_MACHINE_PORT_PROBE_H_

#include <string>

namespace cairn::cli {

// Why no connection to HOST:PORT can be made, where that is certain: "connection refused" (nobody
// listens there) or "no such host". Empty: it can be made, or may be later. Blocks for at most a
// second for each address that the host has.
std::string WhyUnreachable(const std::string& address);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_PORT_PROBE_H_

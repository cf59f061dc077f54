#ifndef CAIRN_CLI_MACHINE_PORT_PROBE_H_
#define CAIRN_CLI_MACHINE_PORT_PROBE_H_

#include <string>

namespace cairn::cli {

// The reason why no connection to HOST:PORT is possible, if that is certain: "connection refused"
// (nobody listens there) or "no such host". Empty if a connection is possible now or may be later.
// Blocks for at most a second per address of the host.
std::string WhyUnreachable(const std::string& address);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_PORT_PROBE_H_

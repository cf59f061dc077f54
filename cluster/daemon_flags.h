#ifndef CAIRN_CLUSTER_DAEMON_FLAGS_H_
#define CAIRN_CLUSTER_DAEMON_FLAGS_H_

#include <optional>

#include "common/flag_checks.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cairn::cluster {

// Parses a daemon's command line, which has flags only. Nothing: the daemon may start. Else its
// exit code: 0 after --help and --version, kExitBadUsage after one line on standard error that says
// what is wrong and, of a flag that there is not, which one was probably meant.
std::optional<int> ParseDaemonFlags(CLI::App* app, int argc, const char* const* argv);

// HOST:PORT, as ParseAddress takes it.
FlagCheck IsAddress();

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_DAEMON_FLAGS_H_

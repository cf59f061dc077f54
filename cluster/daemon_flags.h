#ifndef CAIRN_CLUSTER_DAEMON_FLAGS_H_
#define CAIRN_CLUSTER_DAEMON_FLAGS_H_

#include <optional>

#include "common/flag_checks.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cairn::cluster {

// Parses the command line of a daemon, which consists of flags only. Returns nullopt if the daemon
// should start, otherwise the exit code: 0 after --help and --version, kExitBadUsage after an
// error, which is printed to standard error in one line with a suggestion for misspelled flags.
// Adds the flags of tests that all daemons have: --unsafe_testing, --failpoint, --failpoint_file
// and
// --route.
std::optional<int> ParseDaemonFlags(CLI::App* app, int argc, const char* const* argv);

// A validator for HOST:PORT (see ParseAddress).
FlagCheck IsAddress();

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_DAEMON_FLAGS_H_

#ifndef CAIRN_CLI_MACHINE_CHECK_H_
#define CAIRN_CLI_MACHINE_CHECK_H_

#include <string>

namespace cairn::cli {

// The result of one check of this machine (`cairn doctor`).
struct Check {
  enum class Level {
    kOk,
    kWarn,  // Cairn runs, but with limitations.
    kFail,  // Cairn does not run, or will fail soon.
  };
  Level level = Level::kOk;
  std::string subject;  // "memory"
  std::string found;    // "7.6 GiB free of 8.0 GiB"
  std::string fix;      // What to do; empty if there is nothing to do.
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_CHECK_H_

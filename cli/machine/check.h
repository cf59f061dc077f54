#ifndef CAIRN_CLI_MACHINE_CHECK_H_
#define CAIRN_CLI_MACHINE_CHECK_H_

#include <string>

namespace cairn::cli {

// What one look at this machine found.
struct Check {
  enum class Level {
    kOk,
    kWarn,  // Cairn runs, but not as it could.
    kFail,  // Cairn does not run, or not for long.
  };
  Level level = Level::kOk;
  std::string subject;  // "memory"
  std::string found;    // "7.6 GiB free of 8.0 GiB"
  std::string fix;      // What to do about it; empty when all is well.
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_CHECK_H_

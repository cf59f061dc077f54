#ifndef CAIRN_CLI_MACHINE_DISK_H_
#define CAIRN_CLI_MACHINE_DISK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/machine/check.h"

namespace cairn::cli {

// Looks at the disk on which a state directory lies or would lie: room, and how long a sync takes
// (a few small files are written beside it and removed). Fails if nothing can be written there, or
// if what is there is no directory.
std::vector<Check> CheckDisk(const std::string& state);

// How the two are judged.
Check JudgeRoom(const std::string& folder, int64_t free_bytes);
Check JudgeSync(absl::Duration median);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_DISK_H_

#ifndef CAIRN_CLI_MACHINE_DISK_H_
#define CAIRN_CLI_MACHINE_DISK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "cli/machine/check.h"

namespace cairn::cli {

// Checks the disk of a state directory, which need not exist: the free space, and the duration of a
// sync (measured with a small file, which is removed again). Fails if nothing can be written there,
// or if the path is not a directory.
std::vector<Check> CheckDisk(const std::string& state);

// The results for these two measurements.
Check JudgeRoom(const std::string& folder, int64_t free_bytes);
Check JudgeSync(absl::Duration median);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_MACHINE_DISK_H_

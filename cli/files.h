#ifndef CAIRN_CLI_FILES_H_
#define CAIRN_CLI_FILES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::cli {

// Reads a whole regular file. Errors name it and the operating system's reason; NotFound if there
// is none, InvalidArgument for a folder or something else that is not a file.
absl::StatusOr<std::string> ReadFile(const std::string& file);

// Creates the folder if it is missing, and checks that files can be written there.
absl::Status CheckMayWriteIn(const std::string& folder);

// Checks that WriteFile can write this file, except for the free space. Leaves no files.
absl::Status CheckMayWrite(const std::string& file);

// Writes all of `bytes` to a descriptor that blocks. 0, or errno.
int WriteAll(int descriptor, std::string_view bytes);

// Replaces the file atomically: writes a temporary file, syncs and renames it. Neither a reader nor
// a power failure sees a part of it. Creates missing folders, and removes them if writing fails.
// Follows links. Writes directly to a device or a pipe (/dev/stdout).
absl::Status WriteFile(const std::string& file, std::string_view contents);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_FILES_H_

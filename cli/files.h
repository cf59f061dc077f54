#ifndef CAIRN_CLI_FILES_H_
#define CAIRN_CLI_FILES_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::cli {

// Reads a whole regular file. Errors contain the file's name and the operating system's reason.
// NotFound: there is no such file. InvalidArgument: it is a folder or another special file.
absl::StatusOr<std::string> ReadFile(const std::string& file);

// Creates the folder if it is missing, and checks that files can be written there.
absl::Status CheckMayWriteIn(const std::string& folder);

// Checks that WriteFile can write this file, except for the free space. Leaves no files or folders
// behind.
absl::Status CheckMayWrite(const std::string& file);

// Writes all of `bytes` to a blocking descriptor. Returns 0, or errno.
int WriteAll(int descriptor, std::string_view bytes);

// Replaces the file atomically: writes a temporary file, syncs and renames it. Readers see the old
// or the new contents, also after a power failure. Creates missing folders, and removes them if
// writing fails. Follows links. Writes directly to a device or a pipe (/dev/stdout).
absl::Status WriteFile(const std::string& file, std::string_view contents);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_FILES_H_

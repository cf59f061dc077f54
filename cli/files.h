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

// Makes the folder if need be, and finds out whether files can be written there.
absl::Status CheckMayWriteIn(const std::string& folder);

// Whether WriteFile could write this file, apart from the room on the disk. Leaves nothing behind.
absl::Status CheckMayWrite(const std::string& file);

// Writes all of `bytes` to a descriptor that blocks. 0, or errno.
int WriteAll(int descriptor, std::string_view bytes);

// Replaces the file in one step (it is written beside it, synced and renamed), so that neither a
// reader nor a machine that loses power sees half of it. Missing folders above it are made, and
// removed again if writing fails; links are followed; a device or a pipe (/dev/stdout) is written
// to.
absl::Status WriteFile(const std::string& file, std::string_view contents);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_FILES_H_

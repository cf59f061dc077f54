#ifndef CAIRN_STORAGE_DIRECTORY_H_
#define CAIRN_STORAGE_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::storage {

// Makes `directory` and its missing parents; one that exists is fine. The error names the
// directory.
absl::Status CreateDirectories(const std::string& directory);

// The names of what lies in `directory`, in no order. NotFound: there is no such directory.
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& directory);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_DIRECTORY_H_

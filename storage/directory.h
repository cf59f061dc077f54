#ifndef CAIRN_STORAGE_DIRECTORY_H_
#define CAIRN_STORAGE_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"

namespace cairn::storage {

// Makes `directory` and its missing parents; one that exists is fine. The error names the
// directory.
absl::Status CreateDirectories(const std::string& directory);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_DIRECTORY_H_

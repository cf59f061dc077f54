#ifndef CAIRN_STORAGE_DIRECTORY_H_
#define CAIRN_STORAGE_DIRECTORY_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace cairn::storage {

// Creates `directory` and its missing parents; an existing directory is not an error. The error
// message names the directory. ResourceExhausted: the disk is full, or memory or file descriptors
// are short. FailedPrecondition: such a directory cannot be made here. Internal: the disk or the
// file server has failed, perhaps only for a moment.
absl::Status CreateDirectories(const std::string& directory);

// Returns the names of the entries of `directory`, in unspecified order. NotFound: the directory
// does not exist.
absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& directory);

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_DIRECTORY_H_

#include "storage/directory.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace cairn::storage {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return absl::StatusCode::kResourceExhausted;
    case EACCES:
    case EEXIST:
    case EINVAL:
    case ELOOP:
    case ENAMETOOLONG:
    case ENOENT:
    case ENOTDIR:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kFailedPrecondition;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status CreateDirectories(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) return absl::OkStatus();
  return absl::Status(CodeOf(error.value()), absl::StrCat("cannot make the directory \"", directory,
                                                          "\": ", error.message()));
}

absl::StatusOr<std::vector<std::string>> ListDirectory(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (!error) return names;
  const auto code = error == std::errc::no_such_file_or_directory
                        ? absl::StatusCode::kNotFound
                        : absl::StatusCode::kFailedPrecondition;
  return absl::Status(
      code, absl::StrCat("cannot list the directory \"", directory, "\": ", error.message()));
}

}  // namespace cairn::storage

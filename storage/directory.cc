#include "storage/directory.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace cairn::storage {

absl::Status CreateDirectories(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error) return absl::OkStatus();
  const auto code = error == std::errc::no_space_on_device ? absl::StatusCode::kResourceExhausted
                    : error == std::errc::io_error         ? absl::StatusCode::kInternal
                                                           : absl::StatusCode::kFailedPrecondition;
  return absl::Status(
      code, absl::StrCat("cannot make the directory \"", directory, "\": ", error.message()));
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

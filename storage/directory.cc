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
                                                           : absl::StatusCode::kFailedPrecondition;
  return absl::Status(
      code, absl::StrCat("cannot make the directory \"", directory, "\": ", error.message()));
}

}  // namespace cairn::storage

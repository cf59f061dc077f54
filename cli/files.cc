#include "cli/files.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

absl::Status Failed(std::string_view what, const std::string& file, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat(std::string(what), " ", file));
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (!std::filesystem::exists(status)) {
    return Failed("cannot read", file, error ? error.value() : ENOENT);
  }
  if (!std::filesystem::is_regular_file(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", file, ": it is ",
                     std::filesystem::is_directory(status) ? "a folder" : "not a file"));
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream contents;
  if (stream && status.type() == std::filesystem::file_type::regular) contents << stream.rdbuf();
  if (!stream) return Failed("cannot read", file, errno != 0 ? errno : EIO);
  return std::move(contents).str();
}

absl::Status CheckMayWriteIn(const std::string& folder) {
  const std::string probe = absl::StrCat(folder, "/.cairn-probe-", getpid());
  CAIRN_RETURN_IF_ERROR(WriteFile(probe, "can this be written?"));
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  return absl::OkStatus();
}

absl::Status WriteFile(const std::string& file, std::string_view contents) {
  const std::filesystem::path path(file);
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) return Failed("cannot make the folder of", file, error.value());
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat("cannot write ", file, ": it is a folder"));
  }
  const std::string temporary = absl::StrCat(file, ".", getpid(), ".part");
  errno = 0;
  std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
  stream.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  stream.close();
  if (!stream) {
    const int reason = errno != 0 ? errno : EIO;
    std::filesystem::remove(temporary, error);
    return Failed("cannot write", file, reason);
  }
  std::filesystem::rename(temporary, file, error);
  if (error) return Failed("cannot write", file, error.value());
  return absl::OkStatus();
}

}  // namespace cairn::cli

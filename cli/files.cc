#include "cli/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/local/new_folders.h"
#include "common/status_macros.h"

namespace cairn::cli {
namespace {

absl::Status Failed(std::string_view what, const std::string& file, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat(std::string(what), " ", file));
}

// Opens the file, writes all of `bytes` and syncs them. Returns 0, or errno.
int WriteInto(const std::string& file, int flags, std::string_view bytes) {
  const int descriptor = open(file.c_str(), flags | O_CLOEXEC, 0666);
  if (descriptor < 0) return errno;
  int error = WriteAll(descriptor, bytes);
  // A device or a pipe has nothing to sync.
  if (error == 0 && fsync(descriptor) != 0 && errno != EINVAL) error = errno;
  close(descriptor);
  return error;
}

absl::Status IsAFolder(const std::string& file) {
  return absl::InvalidArgumentError(absl::StrCat("cannot write ", file, ": it is a folder"));
}

// Creates the folder, and a file in it that is removed at once.
absl::Status ProbeFolder(const std::string& folder, NewFolders* folders) {
  CAIRN_RETURN_IF_ERROR(folders->Make(folder));
  const std::string probe = absl::StrCat(folder, "/.cairn-probe-", getpid());
  const int reason = WriteInto(probe, O_WRONLY | O_CREAT | O_TRUNC, "can this be written?");
  std::error_code ignored;
  std::filesystem::remove(probe, ignored);
  return reason == 0 ? absl::OkStatus() : Failed("cannot write in the folder", folder, reason);
}

}  // namespace

int WriteAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

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
  // Only peek shows whether the file is empty or cannot be read.
  if (stream.peek() != std::ifstream::traits_type::eof()) contents << stream.rdbuf();
  if (!stream.is_open() || stream.bad() || contents.fail()) {
    return Failed("cannot read", file, errno != 0 ? errno : EIO);
  }
  return std::move(contents).str();
}

absl::Status CheckMayWriteIn(const std::string& folder) {
  NewFolders folders;
  CAIRN_RETURN_IF_ERROR(ProbeFolder(folder, &folders));
  folders.Keep();
  return absl::OkStatus();
}

absl::Status CheckMayWrite(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::is_directory(status)) return IsAFolder(file);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return access(file.c_str(), W_OK) == 0 ? absl::OkStatus() : Failed("cannot write", file, errno);
  }
  NewFolders folders;
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  return ProbeFolder(folder.empty() ? "." : folder.string(), &folders);
}

absl::Status WriteFile(const std::string& file, std::string_view contents) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (std::filesystem::is_directory(status)) return IsAFolder(file);
  const bool is_there = std::filesystem::exists(status);
  if (is_there && !std::filesystem::is_regular_file(status)) {
    // A device or a pipe cannot be replaced.
    const int reason = WriteInto(file, O_WRONLY, contents);
    return reason == 0 ? absl::OkStatus() : Failed("cannot write", file, reason);
  }
  const std::filesystem::path path = file;
  error.clear();
  // Replaces the file that a link names, not the link.
  const std::filesystem::path target = is_there ? std::filesystem::canonical(path, error) : path;
  if (error) return Failed("cannot write", file, error.value());
  NewFolders folders;
  CAIRN_RETURN_IF_ERROR(folders.Make(target.parent_path()));
  // In the folder of the target: a rename is atomic only within one file system.
  const std::string temporary = absl::StrCat(target.string(), ".", getpid(), ".part");
  int reason = WriteInto(temporary, O_WRONLY | O_CREAT | O_TRUNC, contents);
  if (reason == 0 && rename(temporary.c_str(), target.c_str()) != 0) reason = errno;
  if (reason == 0) {
    folders.Keep();
    return absl::OkStatus();
  }
  std::filesystem::remove(temporary, error);
  return Failed("cannot write", file, reason);
}

}  // namespace cairn::cli

#include "cli/local/state_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "cli/files.h"

namespace cairn::cli {
namespace {

std::string LockFile(const std::string& state) { return state + "/lock"; }

absl::Status HeldByAnother(const std::string& state) {
  const auto pid = ReadFile(LockFile(state));
  return absl::FailedPreconditionError(
      absl::StrCat("the state directory ", state, " is in use by another cairn run",
                   pid.ok() && !pid->empty() ? absl::StrCat(" (process ", *pid, ")") : "",
                   "; wait for its end, or choose another one with --state"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateLock>> StateLock::Take(const std::string& state) {
  std::error_code error;
  std::filesystem::create_directories(state, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the directory ", state));
  }
  const int file = open(LockFile(state).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", LockFile(state)));
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    close(file);
    return HeldByAnother(state);
  }
  // Only for the message above, so a failure does no harm.
  const std::string pid = absl::StrCat(getpid());
  if (ftruncate(file, 0) == 0 && write(file, pid.data(), pid.size()) < 0) errno = 0;
  return std::unique_ptr<StateLock>(new StateLock(file));
}

StateLock::~StateLock() { close(file_); }

bool IsStateLocked(const std::string& state) {
  const int file = open(LockFile(state).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool locked = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  close(file);
  return locked;
}

}  // namespace cairn::cli

#include "cli/local/state_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/files.h"
#include "cli/view/shell_word.h"

namespace cairn::cli {
namespace {

std::string LockFile(const std::string& state) { return state + "/lock"; }

// The lock belongs to the open file, not to the process (fcntl(2), "open file description locks").
// Unlike a lock of flock it can be queried without taking it. A query that takes the lock, even
// briefly, could make another process fail to take it.
struct flock WholeFile() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Reads what the holder wrote: "PID COMMAND".
StateHolder ReadHolder(const std::string& state) {
  StateHolder holder;
  const auto text = ReadFile(LockFile(state));
  if (!text.ok()) return holder;
  const std::pair<std::string, std::string> words = absl::StrSplit(*text, absl::MaxSplits(' ', 1));
  if (!absl::SimpleAtoi(words.first, &holder.pid)) holder.pid = 0;
  holder.command = words.second;
  return holder;
}

absl::Status HeldByAnother(const std::string& state) {
  const StateHolder holder = ReadHolder(state);
  const std::string who = absl::StrCat("by ", holder.command, " (process ", holder.pid, ")");
  const std::string flag = absl::StrCat(" --state ", ShellWord(state));
  const std::string fix =
      holder.command == "cairn up"
          ? absl::StrCat("submit the job to it with cairn submit JOB.json --follow", flag,
                         ", or stop it with cairn down", flag)
          : "wait until it ends, or choose another directory with --state";
  return absl::FailedPreconditionError(
      absl::StrCat("the state directory ", state, " is in use ", who, "; ", fix));
}

absl::StatusOr<std::optional<StateHolder>> HolderNow(const std::string& state) {
  const int file = open(LockFile(state).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == EACCES) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", LockFile(state)));
  }
  if (file < 0) return std::nullopt;
  struct flock found = WholeFile();
  const bool locked = fcntl(file, F_OFD_GETLK, &found) == 0 && found.l_type != F_UNLCK;
  close(file);
  if (!locked) return std::nullopt;
  return ReadHolder(state);
}

// NotFound: there is none.
absl::StatusOr<struct stat> StatOf(const std::string& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR) return absl::NotFoundError(file);
  return absl::ErrnoToStatus(errno, file);
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateLock>> StateLock::Take(const std::string& state,
                                                           const std::string& command) {
  return FileOperation::Get<std::unique_ptr<StateLock>>(
      LockFile(state), [state, command] { return TakeNow(state, command); }, kStateMayTake);
}

absl::StatusOr<std::unique_ptr<StateLock>> StateLock::TakeNow(const std::string& state,
                                                              const std::string& command) {
  std::error_code error;
  std::filesystem::create_directories(state, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot create the directory ", state));
  }
  const int file = open(LockFile(state).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", LockFile(state)));
  struct flock whole = WholeFile();
  if (fcntl(file, F_OFD_SETLK, &whole) != 0) {
    close(file);
    return HeldByAnother(state);
  }
  const std::string holder = absl::StrCat(getpid(), " ", command);
  if (ftruncate(file, 0) != 0 ||
      write(file, holder.data(), holder.size()) != static_cast<ssize_t>(holder.size())) {
    const int error = errno;
    close(file);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot write ", LockFile(state)));
  }
  return std::unique_ptr<StateLock>(new StateLock(LockFile(state), file));
}

StateLock::~StateLock() {
  const auto release = [file = file_] {
    close(file);
    return absl::OkStatus();
  };
  // If it hangs, the kernel releases the lock when the process ends.
  FileOperation::Run(path_, release, kStateMayTakeBriefly).IgnoreError();
}

bool IsStateLocked(const std::string& state) {
  const auto holder = HolderOfState(state);
  return holder.ok() && holder->has_value();
}

absl::StatusOr<std::optional<StateHolder>> HolderOfState(const std::string& state) {
  return FileOperation::Get<std::optional<StateHolder>>(
      LockFile(state), [state] { return HolderNow(state); }, kStateMayTake);
}

LockFileMark::LockFileMark(const std::string& state) : file_(LockFile(state)) {
  const auto was = FileOperation::Get<struct stat>(
      file_, [file = file_] { return StatOf(file); }, kStateMayTake);
  is_known_ = was.ok();
  if (is_known_) was_ = *was;
}

absl::Status LockFileMark::Look() const {
  if (!is_known_) return absl::OkStatus();
  const absl::StatusOr<struct stat> now = StatOf(file_);
  if (!now.ok()) return absl::IsNotFound(now.status()) ? now.status() : absl::OkStatus();
  const bool is_same = now->st_dev == was_.st_dev && now->st_ino == was_.st_ino;
  return is_same ? absl::OkStatus() : absl::NotFoundError("replaced");
}

absl::StatusOr<std::shared_ptr<FileOperation>> LockFileMark::StartLooking() const {
  return FileOperation::Start(file_, [mark = *this] { return mark.Look(); });
}

bool LockFileMark::IsThere(absl::Duration limit) const {
  return !absl::IsNotFound(FileOperation::Run(
      file_, [mark = *this] { return mark.Look(); }, limit));
}

}  // namespace cairn::cli

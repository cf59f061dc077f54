#ifndef CAIRN_CLI_LOCAL_STATE_LOCK_H_
#define CAIRN_CLI_LOCAL_STATE_LOCK_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file_operation.h"

namespace cairn::cli {

// How long each use of the files of a state directory may take. They may be on a disk or a file
// server that hangs. The functions of cli/local then return Unavailable, with the path and the fix.
inline constexpr absl::Duration kStateMayTake = absl::Seconds(10);
// The same while daemons are supervised and stopped.
inline constexpr absl::Duration kStateMayTakeBriefly = absl::Seconds(2);

// The exclusive lock of a `cairn run` or `cairn up` on its state directory. The kernel releases it
// when the process ends, however it ends.
class StateLock {
 public:
  // Creates the directory if it is missing. `command` describes the holder to others: "cairn up".
  // FailedPrecondition: the lock is held; the message names the holder and what to do.
  static absl::StatusOr<std::unique_ptr<StateLock>> Take(const std::string& state,
                                                         const std::string& command);
  ~StateLock();
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  StateLock(std::string path, int file) : path_(std::move(path)), file_(file) {}
  static absl::StatusOr<std::unique_ptr<StateLock>> TakeNow(const std::string& state,
                                                            const std::string& command);

  const std::string path_;
  const int file_;
};

// True if the lock is held. False also if the lock file cannot be read.
bool IsStateLocked(const std::string& state);

struct StateHolder {
  int64_t pid = 0;
  std::string command;
};
// The holder of the lock; nullopt if it is free. PermissionDenied: the lock file cannot be read.
absl::StatusOr<std::optional<StateHolder>> HolderOfState(const std::string& state);

// Remembers which file is the lock file of a state directory. While the lock is held, the file
// stays the same unless the directory is removed or replaced.
class LockFileMark {
 public:
  // Remembers the current lock file.
  explicit LockFileMark(const std::string& state);

  // False: the lock file was removed or replaced. True also if that cannot be determined within
  // `limit`, and if there was no lock file.
  bool IsThere(absl::Duration limit = kStateMayTake) const;
  // As IsThere, NotFound for false: begins to look and does not wait.
  absl::StatusOr<std::shared_ptr<FileOperation>> StartLooking() const;

  const std::string& file() const { return file_; }

 private:
  absl::Status Look() const;

  const std::string file_;
  struct stat was_ {};
  bool is_known_ = false;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_STATE_LOCK_H_

#ifndef CAIRN_CLI_LOCAL_STATE_LOCK_H_
#define CAIRN_CLI_LOCAL_STATE_LOCK_H_

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace cairn::cli {

// Says that a `cairn run` or `cairn up` works on a state directory. Ends with the process, however
// it ends.
class StateLock {
 public:
  // Makes the directory if need be. `command` is how others hear of the holder: "cairn up".
  // FailedPrecondition: somebody holds it; the message names who, and what can be done.
  static absl::StatusOr<std::unique_ptr<StateLock>> Take(const std::string& state,
                                                         const std::string& command);
  ~StateLock();
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  explicit StateLock(int file) : file_(file) {}
  const int file_;
};

// Whether somebody holds it now. False also where that may not be seen.
bool IsStateLocked(const std::string& state);

struct StateHolder {
  int64_t pid = 0;
  std::string command;
};
// Who holds it now; nullopt: nobody. PermissionDenied: the lock may not be read.
absl::StatusOr<std::optional<StateHolder>> HolderOfState(const std::string& state);

// The lock file of a state directory, to be known again. While somebody holds it, it stays the same
// unless the directory is removed under them.
class LockFileMark {
 public:
  // Of the lock as it is now.
  explicit LockFileMark(const std::string& state);

  // False: it has been removed, or another one is in its place. True also where that cannot be
  // found out, and for a directory that had no lock.
  bool IsThere() const;

 private:
  const std::string file_;
  struct stat was_ {};
  bool is_known_ = false;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_STATE_LOCK_H_

#ifndef CAIRN_CLI_LOCAL_STATE_LOCK_H_
#define CAIRN_CLI_LOCAL_STATE_LOCK_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace cairn::cli {

// Says that a `cairn run` works on a state directory. Ends with the process, however it ends.
class StateLock {
 public:
  // Makes the directory if need be. FailedPrecondition: another run holds it; its process is named.
  static absl::StatusOr<std::unique_ptr<StateLock>> Take(const std::string& state);
  ~StateLock();
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  explicit StateLock(int file) : file_(file) {}
  const int file_;
};

// Whether somebody holds it now.
bool IsStateLocked(const std::string& state);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_STATE_LOCK_H_

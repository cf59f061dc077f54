#ifndef CAIRN_CLI_LOCAL_STATE_LOCK_H_
#define CAIRN_CLI_LOCAL_STATE_LOCK_H_

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

// Whether somebody holds it now.
bool IsStateLocked(const std::string& state);

struct StateHolder {
  int64_t pid = 0;
  std::string command;
};
// Who holds it now; nullopt: nobody.
std::optional<StateHolder> HolderOfState(const std::string& state);

}  // namespace cairn::cli

#endif  // CAIRN_CLI_LOCAL_STATE_LOCK_H_

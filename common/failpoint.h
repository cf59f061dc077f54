#ifndef CAIRN_COMMON_FAILPOINT_H_
#define CAIRN_COMMON_FAILPOINT_H_

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

// A named point of the code at which a test makes the process die, fail or wait:
//
//   CAIRN_RETURN_IF_ERROR(CAIRN_FAILPOINT("journal.write"));
//   CAIRN_FAILPOINT("worker.before_push").IgnoreError();  // It may die or wait there.
//
// Armed by a daemon's flag --failpoint, which needs --unsafe_testing. A point that is not armed
// costs one relaxed load. The name must be in kFailpoints; otherwise the code does not compile.
#define CAIRN_FAILPOINT(name)                                     \
  ([]() -> ::absl::Status {                                       \
    constexpr int kIndex = ::cairn::FailpointIndex(name);         \
    if (!::cairn::AnyFailpointArmed()) return ::absl::OkStatus(); \
    return ::cairn::HitFailpoint(kIndex);                         \
  }())

namespace cairn {

// All failpoints: the part of the system, and what is about to happen.
inline constexpr std::string_view kFailpoints[] = {
    "journal.open",
};

consteval int FailpointIndex(std::string_view name) {
  int index = 0;
  for (const std::string_view known : kFailpoints) {
    if (known == name) return index;
    ++index;
  }
  throw "the failpoint is not in kFailpoints";
}

// Arms a failpoint. `text` is NAME=ACTION[@FIRST[-LAST]]: the action is taken at these hits of the
// point, counted from 1; default: at the first. Actions: crash (SIGKILL), error, hang (for ever),
// sleep:MILLISECONDS. InvalidArgument: what is wrong with `text`, and what is known.
absl::Status ArmFailpoint(std::string_view text);
// Disarms all, and forgets the hits.
void DisarmFailpoints();
// The number of times that the armed action of a point was taken.
int FailpointFired(std::string_view name);

// Implementation of the macro.
namespace failpoint_internal {
inline std::atomic<bool> any_armed = false;
}  // namespace failpoint_internal
inline bool AnyFailpointArmed() {
  return failpoint_internal::any_armed.load(std::memory_order_relaxed);
}
absl::Status HitFailpoint(int index);

}  // namespace cairn

#endif  // CAIRN_COMMON_FAILPOINT_H_

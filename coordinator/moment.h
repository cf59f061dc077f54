#ifndef CAIRN_COORDINATOR_MOMENT_H_
#define CAIRN_COORDINATOR_MOMENT_H_

#include <cstdint>

#include "absl/time/time.h"

namespace cairn::coordinator {

// When an event happened. Decisions look at `monotonic` only; the calendar is for people.
struct Moment {
  absl::Duration monotonic;
  int64_t unix_seconds = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_MOMENT_H_

#ifndef CAIRN_COORDINATOR_EVENT_TIME_H_
#define CAIRN_COORDINATOR_EVENT_TIME_H_

#include <cstdint>

#include "absl/time/time.h"

namespace cairn::coordinator {

// The time of an event. Decisions use `monotonic` only; the calendar time is for display.
struct EventTime {
  absl::Duration monotonic;
  int64_t unix_seconds = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_EVENT_TIME_H_

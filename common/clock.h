#ifndef CAIRN_COMMON_CLOCK_H_
#define CAIRN_COMMON_CLOCK_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/time/time.h"

namespace cairn {

// Monotonic time, as a duration since an arbitrary origin. Use it for leases, deadlines and rates;
// it is meaningless in another process. Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Duration Now() const = 0;
};

// std::chrono::steady_clock.
class RealClock final : public Clock {
 public:
  absl::Duration Now() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

// A clock that advances only through Advance. For tests and the simulator.
class SimulatedClock final : public Clock {
 public:
  explicit SimulatedClock(absl::Duration start = absl::ZeroDuration())
      : now_nanoseconds_(absl::ToInt64Nanoseconds(start)) {}

  absl::Duration Now() const override { return absl::Nanoseconds(now_nanoseconds_.load()); }

  // `step` must not be negative; fractions of a nanosecond are dropped.
  void Advance(absl::Duration step) { now_nanoseconds_ += absl::ToInt64Nanoseconds(step); }

 private:
  std::atomic<int64_t> now_nanoseconds_;
};

}  // namespace cairn

#endif  // CAIRN_COMMON_CLOCK_H_

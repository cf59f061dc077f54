#ifndef CAIRN_COORDINATOR_TRAINING_RATE_H_
#define CAIRN_COORDINATOR_TRAINING_RATE_H_

#include <algorithm>
#include <deque>

#include "absl/time/time.h"

namespace cairn::coordinator {

// A rate over the last 8 seconds, in units per second. `now` must not decrease. Not thread-safe.
class Rate {
 public:
  void Add(double amount, absl::Duration now) {
    if (points_.empty()) began_ = now;
    if (!points_.empty() && now - points_.back().at < kBucket) {
      points_.back().amount += amount;
    } else {
      points_.push_back({now, amount});
    }
    sum_ += amount;
    Forget(now);
  }

  double PerSecond(absl::Duration now) {
    Forget(now);
    const absl::Duration measured = std::min(now - began_, kWindow);
    return measured < kBucket ? 0 : std::max(0.0, sum_) / absl::ToDoubleSeconds(measured);
  }

 private:
  struct Point {
    absl::Duration at;
    double amount;
  };
  static constexpr absl::Duration kWindow = absl::Seconds(8);
  static constexpr absl::Duration kBucket = absl::Milliseconds(200);

  void Forget(absl::Duration now) {
    while (!points_.empty() && now - points_.front().at > kWindow) {
      sum_ -= points_.front().amount;
      points_.pop_front();
    }
  }

  std::deque<Point> points_;
  absl::Duration began_;
  double sum_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_RATE_H_

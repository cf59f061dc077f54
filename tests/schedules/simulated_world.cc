#include "tests/schedules/simulated_world.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/random.h"

namespace cairn::schedules {

uint64_t SimulatedWorld::Below(uint64_t bound) { return RandomBelow(seed_, ++draws_, bound); }

bool SimulatedWorld::Chance(double probability) {
  return static_cast<double>(Below(1'000'000)) < probability * 1e6;
}

absl::Duration SimulatedWorld::Delay() {
  if (timing.has_value()) return timing->latency;
  if (Chance(disturbances.slow)) {
    return absl::Microseconds(Below(Chance(0.1) ? 2'000'000 : 100'000));
  }
  return absl::Microseconds(100 + Below(2000));
}

absl::Duration SimulatedWorld::ReadingTime() {
  if (timing.has_value()) return absl::ZeroDuration();
  return absl::Microseconds(Below(Chance(0.1) ? 100'000 : 8000));
}

absl::Duration SimulatedWorld::ComputingTime() {
  if (timing.has_value()) return timing->step;
  return absl::Microseconds(Below(Chance(0.1) ? 50'000 : 4000));
}

void SimulatedWorld::Transfer(Link* from, Link* to, bool has_values, std::function<void()> arrive) {
  if (!timing.has_value()) return After(Delay(), std::move(arrive));
  const absl::Duration duration =
      absl::Seconds((has_values ? timing->block_bytes : 100) / timing->bytes_per_second);
  from->free_at = std::max(from->free_at, now_) + duration;
  // The receiver's link is occupied when the first byte arrives, in the order of arrival.
  At(from->free_at - duration + timing->latency,
     [this, to, duration, arrive = std::move(arrive)]() mutable {
       to->free_at = std::max(to->free_at, now_) + duration;
       At(to->free_at, std::move(arrive));
     });
}

void SimulatedWorld::At(absl::Duration at, std::function<void()> run) {
  events_.push({at, ++last_event_, std::move(run)});
}

void SimulatedWorld::RunNext() {
  CAIRN_CHECK(!events_.empty());
  now_ = events_.top().at;
  const std::function<void()> run = std::move(events_.top().run);
  events_.pop();
  ++outcome.events;
  run();
}

void SimulatedWorld::Violate(const std::string& what) {
  if (!what.empty() && outcome.violation.empty()) {
    outcome.violation = absl::StrCat(job.mode, ": ", what);
  }
}

}  // namespace cairn::schedules

#include "tests/schedules/simulated_world.h"

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/random.h"

namespace cairn::schedules {

uint64_t SimulatedWorld::Below(uint64_t bound) { return RandomBelow(seed_, ++draws_, bound); }

bool SimulatedWorld::Chance(double probability) {
  return static_cast<double>(Below(1'000'000)) < probability * 1e6;
}

absl::Duration SimulatedWorld::Delay() {
  if (Chance(disturbances.slow)) {
    return absl::Microseconds(Below(Chance(0.1) ? 2'000'000 : 100'000));
  }
  return absl::Microseconds(100 + Below(2000));
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

// Runs simulated schedules (see schedule.h) and prints how many, and each violation with its seed.
//
// Usage: run FIRST_SEED COUNT

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/schedules/schedule.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: run FIRST_SEED COUNT\n");
    return 2;
  }
  const uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  cairn::schedules::MemoryJournal journal;
  int64_t violations = 0, faults = 0, rollbacks = 0, duplicates = 0, events = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < count; ++i) {
    const cairn::schedules::Outcome outcome = cairn::schedules::RunSchedule(first + i, &journal);
    if (!outcome.violation.empty()) {
      std::printf("seed %ld: %s\n", static_cast<long>(first + i), outcome.violation.c_str());
      ++violations;
    }
    faults += outcome.faults;
    rollbacks += outcome.rollbacks;
    duplicates += outcome.duplicates;
    events += outcome.events;
    if ((i + 1) % 10'000 != 0 && i + 1 != count) continue;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf(
        "%ld schedules, %ld violations, %ld faults, %ld rollbacks, %ld duplicates, %ld "
        "events, %.0f s\n",
        static_cast<long>(i + 1), static_cast<long>(violations), static_cast<long>(faults),
        static_cast<long>(rollbacks), static_cast<long>(duplicates), static_cast<long>(events),
        seconds);
    std::fflush(stdout);
  }
  return violations > 0 ? 1 : 0;
}

// Runs simulated schedules (see schedule.h) and prints how many, and each violation with its seed.
//
// Usage: run FIRST_SEED COUNT
//        run step_times        synchronous jobs of 1 to 1,000 workers beside the slowest link

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/schedules/schedule.h"

namespace {

int PrintStepTimes() {
  cairn::schedules::MemoryJournal journal;
  std::printf("workers   ps   step ms   bound ms   ratio\n");
  int failures = 0;
  for (const int ps : {1, 10, 100}) {
    for (const int workers : {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000}) {
      // 20 MB over links of 10 Gbit/s.
      const cairn::schedules::StepTime time =
          cairn::schedules::SimulateStepTime({.workers = workers,
                                              .ps = ps,
                                              .model_bytes = 20'000'000,
                                              .block_bytes = ps == 100 ? 20'000 : 100'000,
                                              .bytes_per_second = 1.25e9,
                                              .latency = absl::Microseconds(50),
                                              .step = absl::Milliseconds(20)},
                                             &journal);
      if (!time.violation.empty()) std::printf("%s\n", time.violation.c_str());
      failures += time.violation.empty() ? 0 : 1;
      std::printf("%7d %4d %9.1f %10.1f %7.3f\n", workers, ps,
                  absl::ToDoubleMilliseconds(time.measured), absl::ToDoubleMilliseconds(time.bound),
                  absl::FDivDuration(time.measured, time.bound));
      std::fflush(stdout);
    }
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "step_times") == 0) return PrintStepTimes();
  if (argc != 3) {
    std::fprintf(stderr, "usage: run FIRST_SEED COUNT, or run step_times\n");
    return 2;
  }
  const uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  cairn::schedules::MemoryJournal journal;
  int64_t violations = 0, faults = 0, rollbacks = 0, duplicates = 0, events = 0, continued = 0;
  int64_t lost_writes = 0;
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
    continued += outcome.continued;
    lost_writes += outcome.lost_writes;
    if ((i + 1) % 10'000 != 0 && i + 1 != count) continue;
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf(
        "%ld schedules, %ld violations, %ld faults, %ld rollbacks, %ld continued from replicas, "
        "%ld duplicates, %ld writes lost with the power, %ld events, %.0f s\n",
        static_cast<long>(i + 1), static_cast<long>(violations), static_cast<long>(faults),
        static_cast<long>(rollbacks), static_cast<long>(continued), static_cast<long>(duplicates),
        static_cast<long>(lost_writes), static_cast<long>(events), seconds);
    std::fflush(stdout);
  }
  return violations > 0 ? 1 : 0;
}

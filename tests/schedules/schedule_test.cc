#include "tests/schedules/schedule.h"

#include <gtest/gtest.h>

namespace cairn::schedules {
namespace {

struct Sum {
  int64_t faults = 0;
  int64_t rollbacks = 0;
  int64_t duplicates = 0;
  int64_t continued = 0;
  int64_t lost_writes = 0;
};

// Stops at the first violation.
Sum RunSchedules(uint64_t first, uint64_t count) {
  MemoryJournal journal;
  Sum sum;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = RunSchedule(seed, &journal);
    EXPECT_EQ(outcome.violation, "") << "seed " << seed;
    if (!outcome.violation.empty()) break;
    sum.faults += outcome.faults;
    sum.rollbacks += outcome.rollbacks;
    sum.duplicates += outcome.duplicates;
    sum.continued += outcome.continued;
    sum.lost_writes += outcome.lost_writes;
  }
  return sum;
}

// About a minute. tests/schedules/run takes a range of seeds.
TEST(ScheduleTest, EveryBatchCountsOnceAndEveryJobEnds) {
  constexpr int kSchedules = 10'000;
  const Sum sum = RunSchedules(1, kSchedules);
  // Otherwise too little has happened.
  EXPECT_GT(sum.faults, 2 * kSchedules);
  EXPECT_GT(sum.rollbacks, kSchedules / 10);
  EXPECT_GT(sum.duplicates, kSchedules / 10);
  EXPECT_GT(sum.continued, kSchedules / 20);
  EXPECT_GT(sum.lost_writes, kSchedules / 20);
}

TEST(ScheduleTest, TheSameSeedIsTheSameSchedule) {
  MemoryJournal journal;
  for (const uint64_t seed : {7, 8, 9}) {
    const Outcome outcome = RunSchedule(seed, &journal);
    MemoryJournal other;
    EXPECT_EQ(RunSchedule(seed, &other).events, outcome.events);
  }
}

// The table for up to 1,000 workers: tests/schedules/run step_times.
TEST(ScheduleTest, AStepTakesTheTimeOfTheSlowestLink) {
  MemoryJournal journal;
  for (const int ps : {1, 4, 16}) {
    for (const int workers : {1, 2, 3, 8, 17, 64}) {
      // Of 10 MB, 16 blocks or more for each ps, over links of 10 Gbit/s.
      const StepTime time = SimulateStepTime({.workers = workers,
                                              .ps = ps,
                                              .model_bytes = 10'240'000,
                                              .block_bytes = 40'000,
                                              .bytes_per_second = 1.25e9,
                                              .latency = absl::Microseconds(50),
                                              .step = absl::Milliseconds(10)},
                                             &journal);
      EXPECT_EQ(time.violation, "");
      EXPECT_LT(time.measured, 1.1 * time.bound) << workers << " workers, " << ps << " ps";
      // Otherwise a transfer is not counted. The two directions may overlap.
      EXPECT_GT(time.measured, 0.5 * time.bound) << workers << " workers, " << ps << " ps";
    }
  }
}

TEST(ScheduleTest, PlantedFaultsAreFound) {
  constexpr struct {
    const char* name;
    Planted planted;
  } kFaults[] = {
      {"a ps applies repeated pushes again", {.ledger_off = true}},
      {"a ps does not keep the updates of others", {.replicas_off = true}},
      {"snapshots are acknowledged before their sync", {.snapshots_not_synced = true}},
      {"the journal is not synced", {.journal_not_synced = true}},
  };
  MemoryJournal journal;
  for (const auto& fault : kFaults) {
    int found = 0;
    for (uint64_t seed = 1; seed <= 500 && found == 0; ++seed) {
      found += !RunSchedule(seed, &journal, fault.planted).violation.empty();
    }
    EXPECT_GT(found, 0) << fault.name;
  }
}

}  // namespace
}  // namespace cairn::schedules

#include "tests/coordinator/month.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kEpoch = 10'000;
constexpr int64_t kKept = 20'000;

// The cost of a long job for its coordinator does not grow with the number of batches, and nothing
// is lost by restarts. The bounds are of bytes and operations; tests/benchmarks/month.cc measures
// 260,000,000 batches and times.
TEST(MonthTest, TheCoordinatorsMemoryDiskAndTurnsAreBoundedAndTheSumsAreExact) {
  const std::string directory = ::testing::TempDir() + "/month";
  std::filesystem::remove_all(directory);
  Month month({.directory = directory,
               .batches = 20 * kEpoch,
               .batches_per_epoch = kEpoch,
               .first_restart = 20'000,
               .keep_history = kKept});
  ASSERT_TRUE(month.RunUntil(5 * kEpoch));
  const Month::Cost early = month.cost();
  ASSERT_TRUE(month.RunUntil(20 * kEpoch));
  ASSERT_EQ(month.Status().state(), proto::FINISHED) << month.Status().DebugString();
  const Month::Cost cost = month.cost();
  EXPECT_GE(cost.restarts, 10);
  EXPECT_EQ(cost.batches, 20 * kEpoch);

  // A turn writes a row of at most 100 bytes for each batch of a report, and the sums of at most
  // three epochs.
  EXPECT_LE(cost.turn_changes_max, 300 + 10);
  EXPECT_LE(cost.turn_bytes_max, 300 * 100 + 3 * 2 * 3300 + 5000);
  EXPECT_LE(cost.turn_bytes_max, early.turn_bytes_max + 5000);
  // RocksDB's buffers, of which each is 8 MiB.
  EXPECT_LE(cost.memory_max, 40 << 20);
  // Logs of the buffers; tables with the newest rows, and with those that are to be compacted.
  EXPECT_LE(cost.disk_max, 64 << 20);

  int64_t rows = 0;
  int64_t first = 20 * kEpoch;
  ASSERT_TRUE(storage::ReadBatches(month.journal(), 1, 0, [&](const proto::BatchRecord& record) {
                first = std::min(first, record.batch());
                ++rows;
                return true;
              }).ok());
  EXPECT_EQ(rows, 20 * kEpoch - first);
  EXPECT_GE(rows, kKept);
  EXPECT_LE(rows, 2 * kKept);

  // Every epoch's means are over all of its batches, although coordinators died in between.
  const auto records = storage::ReadJob(month.journal(), 1);
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->epochs.size(), 20u);
  for (const proto::EpochRecord& epoch : records->epochs) {
    EXPECT_EQ(epoch.training().examples(), kEpoch * 10);
    EXPECT_EQ(epoch.training().loss(), 0.5);
    ASSERT_EQ(epoch.training().metrics_size(), 2);
    EXPECT_EQ(epoch.training().metrics(0), 0.5);
    EXPECT_EQ(epoch.training().metrics(1), records->epochs[0].training().metrics(1));
  }
}

}  // namespace
}  // namespace cairn::coordinator

#include "coordinator/recovery/buffered_reports.h"

#include <gtest/gtest.h>

namespace cairn::coordinator {
namespace {

proto::WorkReport ReportOf(int64_t first, int64_t count) {
  proto::WorkReport report;
  for (int64_t i = 0; i < count; ++i) report.add_batches()->set_batch(first + i);
  return report;
}

TEST(BufferedReportsTest, GivesBackOnceAndInTheirOrderThoseThatSpeakOfBatches) {
  BufferedReports early;
  early.Keep(WorkerTask(1), ReportOf(10, 2));
  early.Keep(WorkerTask(0), ReportOf(0, 0));
  early.Keep(WorkerTask(0), ReportOf(20, 1));
  const auto taken = early.TakeAll();
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0].first, WorkerTask(1));
  EXPECT_EQ(taken[0].second.batches(1).batch(), 11);
  EXPECT_EQ(taken[1].first, WorkerTask(0));
  EXPECT_TRUE(early.TakeAll().empty());
}

TEST(BufferedReportsTest, ReportsOfALostWorkerAreForgotten) {
  BufferedReports early;
  early.Keep(WorkerTask(0), ReportOf(0, BufferedReports::kBatchesMax));
  early.Keep(WorkerTask(1), ReportOf(1, 1));  // There is no room.
  early.Forget(WorkerTask(0));
  early.Keep(WorkerTask(1), ReportOf(2, 1));
  const auto taken = early.TakeAll();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].second.batches(0).batch(), 2);
}

}  // namespace
}  // namespace cairn::coordinator

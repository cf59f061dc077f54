#include "worker/report_queue.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

constexpr absl::Duration At(int milliseconds) { return absl::Milliseconds(milliseconds); }

proto::BatchRecord Record(int64_t batch) {
  proto::BatchRecord record;
  record.set_batch(batch);
  return record;
}

TEST(ReportQueueTest, TheFirstReportAsksForWork) {
  ReportQueue queue;
  const auto report = queue.TakeDue({.queued = 0, .starved = true}, false, At(0));
  ASSERT_TRUE(report.has_value());
  EXPECT_GT(report->wanted(), 0);
  EXPECT_EQ(report->queued(), 0);
  EXPECT_FALSE(queue.TakeDue({.queued = 0, .starved = true}, false, At(20)));
}

TEST(ReportQueueTest, BatchesAreGatheredFor50Milliseconds) {
  ReportQueue queue;
  const WorkerLoad busy{.queued = 10};
  queue.TakeDue(busy, false, At(0));
  queue.AddBatch(Record(1));
  EXPECT_FALSE(queue.TakeDue(busy, false, At(10)));
  queue.AddBatch(Record(2));
  const auto report = queue.TakeDue(busy, false, At(50));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->batches_size(), 2);
  EXPECT_EQ(report->batches(0).batch(), 1);
}

TEST(ReportQueueTest, AWorkerThatRunsOutOfWorkSaysSoAtOnce) {
  ReportQueue queue;
  queue.TakeDue({.queued = 10}, false, At(0));
  queue.AddBatch(Record(1));
  EXPECT_TRUE(queue.TakeDue({.queued = 0, .starved = true}, false, At(5)));
}

TEST(ReportQueueTest, WaitingForOthersIsReportedWhenItChanges) {
  ReportQueue queue;
  queue.TakeDue({.queued = 3, .blocked_on = -1}, false, At(0));
  const auto report = queue.TakeDue({.queued = 3, .blocked_on = 8}, false, At(60));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->blocked_on(), 8);
  EXPECT_FALSE(queue.TakeDue({.queued = 3, .blocked_on = 8}, false, At(200)));
}

TEST(ReportQueueTest, WhatWasSentLatelyIsSentAgainOnANewStreamInOrder) {
  ReportQueue queue;
  const WorkerLoad busy{.queued = 10};
  queue.AddBatch(Record(1));
  queue.TakeDue(busy, false, At(0));
  queue.AddBatch(Record(2));
  queue.TakeDue(busy, false, At(18000));
  queue.AddBatch(Record(3));
  queue.SendAgain(At(20000));
  const auto report = queue.TakeDue(busy, false, At(20000));
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->batches_size(), 2);
  EXPECT_EQ(report->batches(0).batch(), 2);
  EXPECT_EQ(report->batches(1).batch(), 3);
}

TEST(ReportQueueTest, LargeRecordsAreNotAllKept) {
  constexpr int kRecords = 40;
  ReportQueue queue;
  proto::BatchRecord record;
  for (int i = 0; i < 1 << 17; ++i) record.add_metrics(0.5);  // 1 MiB.
  int time = 0;
  for (int batch = 0; batch < kRecords; ++batch) {
    record.set_batch(batch);
    queue.AddBatch(record);
    ASSERT_TRUE(queue.TakeDue({}, /*all=*/true, At(++time)).has_value());
  }
  queue.SendAgain(At(++time));
  std::vector<int64_t> again;
  while (const auto report = queue.TakeDue({}, /*all=*/true, At(++time))) {
    if (report->batches().empty()) break;
    for (const proto::BatchRecord& sent : report->batches()) again.push_back(sent.batch());
  }
  ASSERT_FALSE(again.empty());
  EXPECT_LE(again.size(), 16u);
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i], static_cast<int64_t>(kRecords - again.size() + i))
        << "the newest, in order";
  }
}

TEST(ReportQueueTest, AReportThatCouldNotBeSentIsKept) {
  ReportQueue queue;
  queue.AddBatch(Record(1));
  queue.AddBatch(Record(2));
  const auto report = queue.TakeDue({}, false, At(0));
  queue.Requeue(*report);
  const auto again = queue.TakeDue({}, false, At(100));
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->batches_size(), 2);
  EXPECT_EQ(again->batches(0).batch(), 1);
}

TEST(ReportQueueTest, WhatWasSentAfterAReportThatWasNotIsSentAgainOnANewStream) {
  ReportQueue queue;
  queue.AddBatch(Record(1));
  const auto unsent = queue.TakeDue({}, false, At(0));
  queue.AddBatch(Record(2));
  ASSERT_TRUE(queue.TakeDue({}, false, At(100)).has_value());
  queue.Requeue(*unsent);
  queue.SendAgain(At(200));
  const auto again = queue.TakeDue({}, false, At(200));
  ASSERT_TRUE(again.has_value());
  std::set<int64_t> batches;
  for (const proto::BatchRecord& record : again->batches()) batches.insert(record.batch());
  EXPECT_EQ(batches, (std::set<int64_t>{1, 2}));
}

}  // namespace
}  // namespace cairn::worker

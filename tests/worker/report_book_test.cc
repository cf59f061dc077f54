#include "worker/report_book.h"

#include <set>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

constexpr absl::Duration At(int milliseconds) { return absl::Milliseconds(milliseconds); }

proto::BatchRecord Record(int64_t batch) {
  proto::BatchRecord record;
  record.set_batch(batch);
  return record;
}

TEST(ReportBookTest, TheFirstReportAsksForWork) {
  ReportBook book;
  const auto report = book.TakeDue({.queued = 0, .starved = true}, false, At(0));
  ASSERT_TRUE(report.has_value());
  EXPECT_GT(report->wanted(), 0);
  EXPECT_EQ(report->queued(), 0);
  EXPECT_FALSE(book.TakeDue({.queued = 0, .starved = true}, false, At(20)));
}

TEST(ReportBookTest, BatchesAreGatheredFor50Milliseconds) {
  ReportBook book;
  const ReportBook::Standing busy{.queued = 10};
  book.TakeDue(busy, false, At(0));
  book.AddBatch(Record(1));
  EXPECT_FALSE(book.TakeDue(busy, false, At(10)));
  book.AddBatch(Record(2));
  const auto report = book.TakeDue(busy, false, At(50));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->batches_size(), 2);
  EXPECT_EQ(report->batches(0).batch(), 1);
}

TEST(ReportBookTest, AWorkerThatRunsOutOfWorkSaysSoAtOnce) {
  ReportBook book;
  book.TakeDue({.queued = 10}, false, At(0));
  book.AddBatch(Record(1));
  EXPECT_TRUE(book.TakeDue({.queued = 0, .starved = true}, false, At(5)));
}

TEST(ReportBookTest, WaitingForOthersIsReportedWhenItChanges) {
  ReportBook book;
  book.TakeDue({.queued = 3, .blocked_on = -1}, false, At(0));
  const auto report = book.TakeDue({.queued = 3, .blocked_on = 8}, false, At(60));
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->blocked_on(), 8);
  EXPECT_FALSE(book.TakeDue({.queued = 3, .blocked_on = 8}, false, At(200)));
}

TEST(ReportBookTest, WhatWasSentLatelyIsSentAgainOnANewStreamInOrder) {
  ReportBook book;
  const ReportBook::Standing busy{.queued = 10};
  book.AddBatch(Record(1));
  book.TakeDue(busy, false, At(0));
  book.AddBatch(Record(2));
  book.TakeDue(busy, false, At(18000));
  book.AddBatch(Record(3));
  book.SendAgain(At(20000));
  const auto report = book.TakeDue(busy, false, At(20000));
  ASSERT_TRUE(report.has_value());
  ASSERT_EQ(report->batches_size(), 2);
  EXPECT_EQ(report->batches(0).batch(), 2);
  EXPECT_EQ(report->batches(1).batch(), 3);
}

TEST(ReportBookTest, WhatCouldNotBeSentIsNotLost) {
  ReportBook book;
  book.AddBatch(Record(1));
  book.AddBatch(Record(2));
  const auto report = book.TakeDue({}, false, At(0));
  book.PutBack(*report);
  const auto again = book.TakeDue({}, false, At(100));
  ASSERT_TRUE(again.has_value());
  ASSERT_EQ(again->batches_size(), 2);
  EXPECT_EQ(again->batches(0).batch(), 1);
}

TEST(ReportBookTest, WhatWasSentAfterAReportThatWasNotIsSentAgainOnANewStream) {
  ReportBook book;
  book.AddBatch(Record(1));
  const auto unsent = book.TakeDue({}, false, At(0));
  book.AddBatch(Record(2));
  ASSERT_TRUE(book.TakeDue({}, false, At(100)).has_value());
  book.PutBack(*unsent);
  book.SendAgain(At(200));
  const auto again = book.TakeDue({}, false, At(200));
  ASSERT_TRUE(again.has_value());
  std::set<int64_t> batches;
  for (const proto::BatchRecord& record : again->batches()) batches.insert(record.batch());
  EXPECT_EQ(batches, (std::set<int64_t>{1, 2}));
}

}  // namespace
}  // namespace cairn::worker

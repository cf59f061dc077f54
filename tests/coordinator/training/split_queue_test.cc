#include "coordinator/training/split_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kStart = absl::Seconds(1000);

SplitQueueOptions Options(int64_t total, int64_t per_epoch) {
  SplitQueueOptions options;
  options.total_batches = total;
  options.batches_per_epoch = per_epoch;
  return options;
}

proto::WorkReport Wants(int64_t wanted, int64_t blocked_on = -1, int64_t queued = 0) {
  proto::WorkReport report;
  report.set_wanted(wanted);
  report.set_blocked_on(blocked_on);
  report.set_queued(queued);
  return report;
}

std::vector<int64_t> Batches(const std::vector<proto::Split>& splits) {
  std::vector<int64_t> batches;
  for (const proto::Split& split : splits) {
    for (int64_t i = 0; i < split.count(); ++i)
      batches.push_back(split.first() + i * split.stride());
  }
  return batches;
}

std::vector<int64_t> Grant(SplitQueue* queue, uint32_t worker, int64_t wanted, int64_t workers,
                           absl::Duration now = kStart) {
  queue->Report(WorkerTask(worker), Wants(wanted), now);
  return Batches(queue->Grant(WorkerTask(worker), workers, now));
}

TEST(SplitQueueTest, NothingIsLeasedBeforeALimitIsSetNorBeyondIt) {
  SplitQueue queue(Options(100, 10), BatchRanges(0, 100));
  EXPECT_TRUE(Grant(&queue, 0, 5, 1).empty());
  queue.SetLimit(3);
  EXPECT_EQ(Grant(&queue, 0, 5, 1), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_TRUE(Grant(&queue, 1, 5, 1).empty());
}

TEST(SplitQueueTest, BatchesOfADeadWorkerGoToOthersLowestFirst) {
  SplitQueue queue(Options(100, 100), BatchRanges(0, 100));
  queue.SetLimit(100);
  const std::vector<int64_t> first = Grant(&queue, 0, 4, 2);
  EXPECT_EQ(first, (std::vector<int64_t>{0, 1, 2, 3}));
  queue.Done(WorkerTask(0), std::vector<int64_t>{1}, kStart);
  queue.Drop(WorkerTask(0));
  EXPECT_EQ(Grant(&queue, 1, 4, 1), (std::vector<int64_t>{0, 2, 3, 4}));
  EXPECT_EQ(queue.DoneCount(), 1);
  EXPECT_EQ(queue.LowWater(), 0);
}

TEST(SplitQueueTest, AWorkerGetsAboutOneSecondOfWork) {
  SplitQueue queue(Options(1000000, 1000000), BatchRanges(0, 1000000));
  queue.SetLimit(1000000);
  std::vector<int64_t> on_hand = Grant(&queue, 0, 4096, 2);
  EXPECT_EQ(on_hand.size(), 8u);  // Its speed is not known yet.
  // It completes 100 batches per second.
  absl::Duration now = kStart;
  for (int second = 0; second < 6; ++second) {
    now += absl::Milliseconds(10) * static_cast<int64_t>(on_hand.size());
    queue.Done(WorkerTask(0), on_hand, now);
    on_hand = Grant(&queue, 0, 4096, 2, now);
  }
  EXPECT_NEAR(static_cast<double>(on_hand.size()), 100, 10);
}

TEST(SplitQueueTest, TheLastBatchesAreSharedFairly) {
  SplitQueue queue(Options(8, 8), BatchRanges(0, 8));
  queue.SetLimit(8);
  EXPECT_EQ(Grant(&queue, 0, 4096, 4).size(), 2u);
  EXPECT_EQ(Grant(&queue, 1, 4096, 4).size(), 2u);
  EXPECT_EQ(Grant(&queue, 2, 4096, 4).size(), 2u);
  EXPECT_EQ(Grant(&queue, 3, 4096, 4).size(), 2u);
}

TEST(SplitQueueTest, NothingIsLeasedFurtherThanALedgersBitmapReaches) {
  SplitQueue queue(Options(1000000000, 1000000000), BatchRanges(0, 1000000000));
  queue.SetLimit(1000000000);
  absl::Duration now = kStart;
  // Worker 0 takes the first batches and never reports; worker 1 is very fast.
  const std::vector<int64_t> stuck = Grant(&queue, 0, 2, 2);
  int64_t highest = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<int64_t> batches = Grant(&queue, 1, 4096, 2, now);
    if (batches.empty()) break;
    highest = std::max(highest, batches.back());
    now += absl::Milliseconds(100);
    queue.Done(WorkerTask(1), batches, now);
  }
  EXPECT_EQ(queue.LowWater(), stuck.front());
  EXPECT_EQ(highest, stuck.front() + kLeasedAheadMax - 1);
  EXPECT_LE(queue.open().ranges().size(), 2u);  // Memory grows with gaps, not with batches.
}

TEST(SplitQueueTest, SynchronousWorkersGetASlotOverARangeOfUpdates) {
  SplitQueueOptions options = Options(40, 20);
  options.synchronous = true;
  options.batches_per_update = 2;
  SplitQueue queue(options, BatchRanges(0, 40));
  queue.SetLimit(20);
  EXPECT_EQ(Grant(&queue, 0, 4, 2), (std::vector<int64_t>{0, 2, 4, 6}));
  EXPECT_EQ(Grant(&queue, 1, 4, 2), (std::vector<int64_t>{1, 3, 5, 7}));
}

TEST(SplitQueueTest, OneSynchronousWorkerAloneGetsAllSlots) {
  SplitQueueOptions options = Options(40, 20);
  options.synchronous = true;
  options.batches_per_update = 4;
  SplitQueue queue(options, BatchRanges(0, 40));
  queue.SetLimit(20);
  std::vector<int64_t> batches = Grant(&queue, 0, 8, 1);
  std::sort(batches.begin(), batches.end());
  EXPECT_EQ(batches, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(SplitQueueTest, ASplitNeverCrossesAnEpoch) {
  SplitQueueOptions options = Options(15, 5);  // 2 + 2 + 1 batches in an epoch's updates.
  options.synchronous = true;
  options.batches_per_update = 2;
  SplitQueue queue(options, BatchRanges(0, 15));
  queue.SetLimit(15);
  queue.Report(WorkerTask(0), Wants(15), kStart);
  for (const proto::Split& split : queue.Grant(WorkerTask(0), 1, kStart)) {
    const int64_t last = split.first() + (split.count() - 1) * split.stride();
    EXPECT_EQ(split.first() / 5, last / 5) << split.ShortDebugString();
  }
}

TEST(SplitQueueTest, ABlockedWorkerGetsTheOpenBatchesBelow) {
  SplitQueueOptions options = Options(100, 100);
  options.synchronous = true;
  options.batches_per_update = 2;
  SplitQueue queue(options, BatchRanges(0, 100));
  queue.SetLimit(100);
  Grant(&queue, 0, 4, 2);  // 0 2 4 6
  Grant(&queue, 1, 4, 2);  // 1 3 5 7
  queue.Drop(WorkerTask(1));
  // Worker 0 has done batch 0 and is blocked at batch 2 on batch 1; it wants no more.
  queue.Report(WorkerTask(0), Wants(0, /*blocked_on=*/2, /*queued=*/3), kStart);
  EXPECT_EQ(Batches(queue.Grant(WorkerTask(0), 1, kStart)), (std::vector<int64_t>{1}));
}

TEST(SplitQueueTest, AWindowInterleavesTheWorkers) {
  SplitQueueOptions options = Options(100, 100);
  options.window = 2;
  SplitQueue queue(options, BatchRanges(0, 100));
  queue.SetLimit(100);
  EXPECT_EQ(Grant(&queue, 0, 3, 2), (std::vector<int64_t>{0, 2, 4}));
  EXPECT_EQ(Grant(&queue, 1, 3, 2), (std::vector<int64_t>{1, 3, 5}));
}

TEST(SplitQueueTest, ReturnedBatchesAreOpenAndStillWanted) {
  SplitQueue queue(Options(100, 100), BatchRanges(0, 100));
  queue.SetLimit(100);
  Grant(&queue, 0, 4, 1);
  proto::Split returned;
  returned.set_first(2);
  returned.set_stride(1);
  returned.set_count(1000);  // More than it had: the rest is ignored.
  EXPECT_TRUE(queue.Return(WorkerTask(0), std::vector<proto::Split>{returned}));
  queue.Done(WorkerTask(0), std::vector<int64_t>{0, 1}, kStart);
  EXPECT_FALSE(queue.AnyLeased());
  EXPECT_EQ(Batches(queue.Grant(WorkerTask(0), 1, kStart)), (std::vector<int64_t>{2, 3}));
}

TEST(SplitQueueTest, BatchesMissingInLedgersAreLeasedAgain) {
  SplitQueue queue(Options(10, 10), BatchRanges(0, 10));
  queue.SetLimit(10);
  const std::vector<int64_t> all = Grant(&queue, 0, 10, 1);
  queue.Done(WorkerTask(0), std::vector<int64_t>{0, 1, 2}, kStart);
  queue.Reopen(BatchRanges(1, 5));  // 3 and 4 stay leased.
  EXPECT_EQ(queue.open().ranges().begin()->first, 1);
  EXPECT_TRUE(queue.open().Contains(2));
  EXPECT_FALSE(queue.open().Contains(3));
}

TEST(SplitQueueTest, AWorkerThatHasLostItsLeasesIsNoticed) {
  SplitQueue queue(Options(10, 10), BatchRanges(0, 10));
  queue.SetLimit(10);
  EXPECT_EQ(Grant(&queue, 0, 4, 1).size(), 4u);
  EXPECT_FALSE(queue.Report(WorkerTask(0), Wants(4), kStart + absl::Seconds(1)));
  EXPECT_TRUE(queue.Report(WorkerTask(0), Wants(4), kStart + absl::Seconds(3)));
  // The ledgers have batches 0 and 1.
  queue.Reconcile(BatchRanges(2, 10));
  EXPECT_FALSE(queue.AnyLeased());
  EXPECT_EQ(queue.DoneCount(), 2);
  EXPECT_EQ(queue.open().front(), 2);
}

// Its process died after the update was applied and before it reported. The survivor's pulls of
// those batches are answered without values, so it drops them, and holds the pushed batches of the
// next update.
TEST(SplitQueueTest, AWorkerThatHasFewerBatchesThanItsLeasesIsNoticedAndKeepsTheOthers) {
  SplitQueueOptions options = Options(30, 30);
  options.synchronous = true;
  options.batches_per_update = 10;
  SplitQueue queue(options, BatchRanges(0, 30));
  queue.SetLimit(30);
  EXPECT_EQ(Grant(&queue, 0, 8, 1), (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  // It has dropped 0 to 4, and pushed 5 to 7.
  proto::WorkReport report = Wants(20, /*blocked_on=*/-1, /*queued=*/3);
  report.set_pushed(3);
  EXPECT_FALSE(queue.Report(WorkerTask(0), report, kStart + absl::Seconds(1)));
  EXPECT_TRUE(queue.Report(WorkerTask(0), report, kStart + absl::Seconds(3)));
  queue.Reconcile(BatchRanges(5, 30));
  EXPECT_EQ(queue.LowWater(), 5);
  EXPECT_EQ(queue.DoneCount(), 5);
  EXPECT_EQ(queue.OwnerOf(5), WorkerTask(0));
  EXPECT_EQ(queue.OwnerOf(7), WorkerTask(0));
  EXPECT_EQ(Batches(queue.Grant(WorkerTask(0), 1, kStart + absl::Seconds(3))).front(), 8);
}

TEST(SplitQueueTest, AdoptedLeasesAreNotGivenToOthers) {
  SplitQueue queue(Options(10, 10), BatchRanges(4, 10));
  queue.SetLimit(10);
  proto::Split held;
  held.set_first(3);  // 3 is applied already.
  held.set_stride(1);
  held.set_count(3);
  queue.Adopt(WorkerTask(0), std::vector<proto::Split>{held});
  EXPECT_EQ(Grant(&queue, 1, 2, 2), (std::vector<int64_t>{6, 7}));
  EXPECT_EQ(queue.DoneCount(), 4);
}

TEST(SplitQueueTest, AStrideBeyondAllBatchesMeansTheFirst) {
  SplitQueue queue(Options(10, 10), BatchRanges(0, 10));
  queue.SetLimit(10);
  proto::Split held;
  held.set_first(1);
  held.set_stride(std::numeric_limits<int64_t>::max());
  held.set_count(3);
  queue.Adopt(WorkerTask(0), std::vector<proto::Split>{held});
  EXPECT_EQ(Grant(&queue, 1, 2, 2), (std::vector<int64_t>{0, 2}));
}

TEST(SplitQueueTest, AWorkerIsUnderservedUntilItReachesItsTarget) {
  BatchRanges open(0, 1);
  open.Add(kLeasedAheadMax, kLeasedAheadMax + 2);
  SplitQueue queue(Options(kLeasedAheadMax + 2, kLeasedAheadMax + 2), open);
  queue.SetLimit(kLeasedAheadMax + 2);
  EXPECT_EQ(Grant(&queue, 0, 1, 2), (std::vector<int64_t>{0}));
  EXPECT_TRUE(queue.underserved().empty());
  EXPECT_TRUE(Grant(&queue, 1, 1, 2).empty()) << "too far ahead of batch 0";
  EXPECT_EQ(queue.underserved(), std::set<TaskId>{WorkerTask(1)});
  EXPECT_FALSE(queue.AnyAllowed());
  queue.Done(WorkerTask(0), std::vector<int64_t>{0}, kStart);
  EXPECT_TRUE(queue.AnyAllowed());
  EXPECT_EQ(Batches(queue.Grant(WorkerTask(1), 2, kStart)),
            (std::vector<int64_t>{kLeasedAheadMax}));
  EXPECT_TRUE(queue.underserved().empty());
}

TEST(SplitQueueTest, ARemovedWorkerIsNotUnderserved) {
  SplitQueue queue(Options(10, 10), BatchRanges(0, 10));
  EXPECT_TRUE(Grant(&queue, 0, 1, 1).empty());
  EXPECT_EQ(queue.underserved(), std::set<TaskId>{WorkerTask(0)});
  queue.Drop(WorkerTask(0));
  EXPECT_TRUE(queue.underserved().empty());
}

// Worker 0 has batches 0 and 1 of 10 and computes for long; worker 1 has done the others in 0.2 s
// each.
class SlowWorkerTest : public ::testing::Test {
 protected:
  explicit SlowWorkerTest(SplitQueueOptions options = Options(10, 10))
      : queue_(options, BatchRanges(0, 10)) {
    queue_.SetLimit(10);
  }

  void SetUp() override {
    slow_ = Grant(&queue_, 0, 2, 2);
    ASSERT_EQ(slow_.size(), 2u);
    for (std::vector<int64_t> batches = Grant(&queue_, 1, 4, 2); !batches.empty();
         batches = Grant(&queue_, 1, 4, 2, now_)) {
      for (const int64_t batch : batches) {
        now_ += absl::Milliseconds(200);
        queue_.Done(WorkerTask(1), std::vector<int64_t>{batch}, now_);
      }
    }
    ASSERT_EQ(queue_.DoneCount(), 8);
    // It has done nothing yet, and its lease began at kStart.
    queue_.Report(WorkerTask(0), Wants(0, -1, /*queued=*/2), now_);
  }

  std::vector<TaskId> TakeFromSlow(absl::Duration now) {
    return queue_.TakeFromSlow({WorkerTask(0), WorkerTask(1)}, now);
  }

  SplitQueue queue_;
  std::vector<int64_t> slow_;
  absl::Duration now_ = kStart;
};

TEST_F(SlowWorkerTest, OthersGetItsBatchesAtTheEndAndTheFirstResultCounts) {
  EXPECT_TRUE(TakeFromSlow(kStart + absl::Seconds(2)).empty()) << "10 steps are 2 s";
  now_ = kStart + absl::Milliseconds(2001);
  ASSERT_EQ(TakeFromSlow(now_), std::vector<TaskId>{WorkerTask(0)});
  EXPECT_TRUE(TakeFromSlow(now_).empty()) << "it has no leases";
  EXPECT_TRUE(Grant(&queue_, 0, 2, 2, now_).empty()) << "others come first";
  EXPECT_EQ(Grant(&queue_, 1, 4, 2, now_), slow_) << "worker 0 has no share";
  // Both may report them.
  EXPECT_TRUE(queue_.MayReport(WorkerTask(0), slow_[0]));
  EXPECT_TRUE(queue_.MayReport(WorkerTask(1), slow_[0]));
  queue_.Done(WorkerTask(0), std::vector<int64_t>{slow_[0]}, now_);
  queue_.Drop(WorkerTask(1));
  EXPECT_TRUE(Grant(&queue_, 0, 2, 2, now_).empty()) << "it has not paused";
  proto::Split returned;
  returned.set_first(slow_[1]);
  returned.set_stride(1);
  returned.set_count(1);
  queue_.Return(WorkerTask(0), {returned});
  EXPECT_EQ(Grant(&queue_, 0, 2, 1, now_).size(), 2u);
}

TEST_F(SlowWorkerTest, IsNotSlowWhileItDoesBatchesOrOthersHaveWork) {
  now_ = kStart + absl::Milliseconds(1900);
  queue_.Done(WorkerTask(0), std::vector<int64_t>{slow_[0]}, now_);
  EXPECT_TRUE(TakeFromSlow(now_ + absl::Seconds(2)).empty());
  queue_.Reopen(BatchRanges(9, 10));
  EXPECT_TRUE(TakeFromSlow(now_ + absl::Seconds(20)).empty()) << "a batch is open";
  ASSERT_EQ(Grant(&queue_, 1, 4, 2, now_), std::vector<int64_t>{9});
  EXPECT_TRUE(TakeFromSlow(now_ + absl::Seconds(2)).empty()) << "nobody waits for it";
  queue_.Done(WorkerTask(1), std::vector<int64_t>{9}, now_ + absl::Seconds(1));
  // Its rate is that of one batch in 1.9 s now, but worker 1 is the median of two.
  EXPECT_EQ(TakeFromSlow(now_ + absl::Seconds(20)).size(), 1u);
}

TEST_F(SlowWorkerTest, ThatHasPushedAllIsNotSlow) {
  proto::WorkReport report = Wants(0, -1, /*queued=*/2);
  report.set_pushed(2);
  queue_.Report(WorkerTask(0), report, now_);
  EXPECT_TRUE(TakeFromSlow(now_ + absl::Seconds(20)).empty());
}

// It computes the batch for which it was found slow: if it ends there, that is known.
TEST_F(SlowWorkerTest, StillHasTheBatchThatItComputes) {
  EXPECT_EQ(queue_.LowestOf(WorkerTask(0)), slow_[0]);
  ASSERT_EQ(TakeFromSlow(now_ + absl::Seconds(20)).size(), 1u);
  EXPECT_EQ(queue_.LowestOf(WorkerTask(0)), slow_[0]);
  queue_.Return(WorkerTask(0), {});
  EXPECT_EQ(queue_.LowestOf(WorkerTask(0)), std::nullopt);
}

// Evaluators, and workers that get no work, wait for nothing.
TEST_F(SlowWorkerTest, IsNotTakenFromForOthersThatDoNotShareTheWork) {
  EXPECT_TRUE(
      queue_.TakeFromSlow({WorkerTask(0), WorkerTask(7)}, now_ + absl::Seconds(20)).empty());
}

TEST_F(SlowWorkerTest, IsForgottenWithItsProcess) {
  ASSERT_EQ(TakeFromSlow(now_ + absl::Seconds(20)).size(), 1u);
  queue_.Drop(WorkerTask(0));
  EXPECT_FALSE(Grant(&queue_, 0, 2, 2, now_).empty());
}

// Results are taken from those who had the batch, and from anybody if it is done: then the result
// may have been lost with a coordinator.
TEST(SplitQueueTest, OnlyAWorkerThatHadABatchMayReportIt) {
  SplitQueue queue(Options(20, 20), BatchRanges(4, 20));
  queue.SetLimit(20);
  ASSERT_EQ(Grant(&queue, 0, 3, 2), (std::vector<int64_t>{4, 5, 6}));
  ASSERT_EQ(Grant(&queue, 1, 1, 2), (std::vector<int64_t>{7}));
  const auto may_report = [&](uint32_t worker, int64_t batch) {
    return queue.MayReport(WorkerTask(worker), batch);
  };
  EXPECT_TRUE(may_report(0, 4));
  EXPECT_FALSE(may_report(1, 4)) << "worker 0 has it";
  EXPECT_FALSE(may_report(0, 8)) << "nobody has it";
  EXPECT_TRUE(may_report(1, 3)) << "applied before this queue existed";
  EXPECT_FALSE(may_report(7, 4)) << "never heard of";
  queue.Done(WorkerTask(0), std::vector<int64_t>{4}, kStart);
  EXPECT_TRUE(may_report(0, 4)) << "sent again on a new stream";
  // What a lost worker had, until others have done it and after that.
  queue.Drop(WorkerTask(0));
  EXPECT_TRUE(may_report(0, 5));
  EXPECT_FALSE(may_report(1, 5));
  ASSERT_EQ(Grant(&queue, 1, 1, 1), (std::vector<int64_t>{5}));
  EXPECT_TRUE(may_report(0, 5));
  EXPECT_TRUE(may_report(1, 5));
  EXPECT_FALSE(may_report(0, 7));
  // What it gave back, it has not done.
  ASSERT_EQ(Grant(&queue, 1, 2, 1), (std::vector<int64_t>{6, 8}));
  proto::Split split;
  split.set_first(8);
  split.set_stride(1);
  split.set_count(1);
  queue.Return(WorkerTask(1), {split});
  EXPECT_FALSE(may_report(1, 8));
  // It had this lease before the coordinator restarted, and another worker has it now.
  split.set_first(6);
  queue.Adopt(WorkerTask(2), {split});
  EXPECT_TRUE(may_report(2, 6));
}

// After a restart of the coordinator nobody knows who had which batch. A worker reports what it has
// done since the ledgers were asked, and does not hold it any more.
TEST(SplitQueueTest, BatchesThatAnEarlierCoordinatorMayHaveLeasedMayBeReported) {
  SplitQueue queue(Options(kLeasedAheadMax + 100, 10), BatchRanges(4, kLeasedAheadMax + 100));
  queue.Resume();
  queue.SetLimit(20);
  EXPECT_TRUE(queue.MayReport(WorkerTask(0), 4));
  ASSERT_EQ(Grant(&queue, 1, 3, 1), (std::vector<int64_t>{4, 5, 6}));
  EXPECT_TRUE(queue.MayReport(WorkerTask(0), 5)) << "it is late";
  EXPECT_FALSE(queue.MayReport(WorkerTask(0), kLeasedAheadMax + 4)) << "nobody had it";
}

proto::Split SplitOf(int64_t first, int64_t stride, int64_t count) {
  proto::Split split;
  split.set_first(first);
  split.set_stride(stride);
  split.set_count(count);
  return split;
}

// Some of them would keep the loop busy for minutes.
TEST(SplitQueueTest, SplitsThatNoWorkerHasAreRefused) {
  SplitQueue queue(Options(int64_t{1} << 40, 100), BatchRanges(0, int64_t{1} << 40));
  queue.SetLimit(100);
  ASSERT_EQ(Grant(&queue, 0, 4, 1).size(), 4u);
  const proto::Split honest = SplitOf(0, 1, 1);
  for (const proto::Split& forged :
       {SplitOf(-5, 1, 1), SplitOf(0, -1, 3), SplitOf(0, 0, 3), SplitOf(0, 1, 0),
        SplitOf(0, 1, kLeasedAheadMax), SplitOf(1, 2, int64_t{1} << 39),
        SplitOf(1, int64_t{1} << 62, int64_t{1} << 62)}) {
    SCOPED_TRACE(forged.ShortDebugString());
    EXPECT_FALSE(queue.Return(WorkerTask(0), std::vector<proto::Split>{honest, forged}));
    EXPECT_EQ(queue.OwnerOf(0), WorkerTask(0));
    EXPECT_FALSE(queue.Adopt(WorkerTask(1), std::vector<proto::Split>{SplitOf(4, 1, 1), forged}));
    EXPECT_EQ(queue.OwnerOf(4), std::nullopt);
  }
  // As many as a worker may have, in an earlier job that was longer.
  EXPECT_TRUE(queue.Return(WorkerTask(0), std::vector<proto::Split>{
                                              SplitOf(int64_t{1} << 41, int64_t{1} << 20, 65536)}));
  EXPECT_EQ(queue.OwnerOf(0), WorkerTask(0));
}

TEST(SplitQueueTest, TheMedianStepIsThatOfTheWorkersWhoseSpeedIsKnown) {
  SplitQueue queue(Options(1000, 1000), BatchRanges(0, 1000));
  queue.SetLimit(1000);
  EXPECT_EQ(queue.MedianStep(), absl::ZeroDuration());
  for (uint32_t worker : {0, 1, 2}) {
    const std::vector<int64_t> batches = Grant(&queue, worker, 8, 3);
    ASSERT_GE(batches.size(), 2u);
    // One batch in 1, 2 and 10 s.
    const absl::Duration step = absl::Seconds(worker == 0 ? 1 : worker == 1 ? 2 : 10);
    queue.Done(WorkerTask(worker), {batches[0]}, kStart + step);
  }
  EXPECT_EQ(queue.MedianStep(), absl::Seconds(2));
}

// Groups of 10 batches, two in a pass.
SplitQueueOptions GroupedOptions(int64_t total) {
  SplitQueueOptions options = Options(total, 20);
  options.groups = job::BatchGroups({10, 20});
  return options;
}

TEST(SplitQueueTest, AWorkerGetsAWholeGroup) {
  SplitQueue queue(GroupedOptions(60), BatchRanges(0, 60));
  queue.SetLimit(60);
  EXPECT_EQ(Grant(&queue, 0, 4, 2), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Grant(&queue, 1, 4, 2), (std::vector<int64_t>{10, 11, 12, 13}));
  for (const uint32_t worker : {0, 1}) {
    const int64_t first = 10 * worker;
    queue.Done(WorkerTask(worker), {first, first + 1, first + 2, first + 3}, kStart);
  }
  // The rest of its group, then the lowest that nobody has.
  EXPECT_EQ(Grant(&queue, 1, 8, 2), (std::vector<int64_t>{14, 15, 16, 17, 18, 19, 20, 21}));
  EXPECT_EQ(Grant(&queue, 0, 8, 2), (std::vector<int64_t>{4, 5, 6, 7, 8, 9, 30, 31}));
}

TEST(SplitQueueTest, AWorkerWithoutAGroupHelpsTheOthers) {
  SplitQueue queue(GroupedOptions(60), BatchRanges(0, 60));
  queue.SetLimit(20);
  EXPECT_EQ(Grant(&queue, 0, 4, 3), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Grant(&queue, 1, 4, 3), (std::vector<int64_t>{10, 11, 12, 13}));
  EXPECT_EQ(Grant(&queue, 2, 4, 3), (std::vector<int64_t>{4, 5, 6, 7}));
}

TEST(SplitQueueTest, TheGroupsOfADeadWorkerAreClaimedByOthers) {
  SplitQueue queue(GroupedOptions(60), BatchRanges(0, 60));
  queue.SetLimit(60);
  EXPECT_EQ(Grant(&queue, 0, 4, 2), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(Grant(&queue, 1, 4, 2), (std::vector<int64_t>{10, 11, 12, 13}));
  queue.Done(WorkerTask(0), {0, 1, 2, 3}, kStart);
  queue.Drop(WorkerTask(0));
  EXPECT_EQ(Grant(&queue, 2, 8, 2), (std::vector<int64_t>{4, 5, 6, 7, 8, 9, 20, 21}));
}

// Workers die and return batches at random. Each batch is done once, and without such events each
// group is computed by one worker, but for those at the end.
class GroupedQueue : public ::testing::TestWithParam<bool> {};

TEST_P(GroupedQueue, EveryBatchIsDoneOnce) {
  constexpr int64_t kTotal = 2000;
  constexpr int64_t kWorkers = 4;
  const bool with_faults = GetParam();
  SplitQueueOptions options = Options(kTotal, 500);
  options.groups = job::BatchGroups({7, 8, 40, 41, 60, 100});
  SplitQueue queue(options, BatchRanges(0, kTotal));
  queue.SetLimit(kTotal);
  std::mt19937 random(3);
  std::map<uint32_t, std::set<int64_t>> held;
  std::map<int64_t, std::set<uint32_t>> workers_of;
  std::set<int64_t> done;
  while (static_cast<int64_t>(done.size()) < kTotal) {
    const auto worker = static_cast<uint32_t>(random() % kWorkers);
    std::set<int64_t>& batches = held[worker];
    if (with_faults && random() % 50 == 0) {
      queue.Drop(WorkerTask(worker));
      batches.clear();
    }
    for (const int64_t batch : Grant(&queue, worker, 1 + random() % 8, kWorkers)) {
      ASSERT_TRUE(batches.insert(batch).second);
      for (const auto& [other, others] : held) ASSERT_EQ(others.count(batch), other == worker);
      workers_of[options.groups.Of(batch)].insert(worker);
    }
    if (batches.empty()) continue;
    const int64_t batch = *batches.begin();
    batches.erase(batch);
    if (with_faults && random() % 10 == 0) {
      proto::Split split;
      split.set_first(batch);
      split.set_stride(1);
      split.set_count(1);
      queue.Return(WorkerTask(worker), {split});
      continue;
    }
    queue.Done(WorkerTask(worker), {batch}, kStart);
    ASSERT_TRUE(done.insert(batch).second);
  }
  EXPECT_EQ(queue.DoneCount(), kTotal);
  if (with_faults) return;
  int64_t shared = 0;
  for (const auto& [group, workers] : workers_of) shared += workers.size() > 1 ? 1 : 0;
  EXPECT_LE(shared, kWorkers);
}

INSTANTIATE_TEST_SUITE_P(Faults, GroupedQueue, ::testing::Bool());

}  // namespace
}  // namespace cairn::coordinator

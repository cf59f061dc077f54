#include "coordinator/training/cut.h"

#include <gtest/gtest.h>

#include <string>

namespace cairn::coordinator {
namespace {

class CutTest : public ::testing::Test {
 protected:
  CutTest() : queue_({.batches_per_epoch = 100, .total_batches = 100}, BatchRanges(0, 100)) {
    plan_.set_job_id(3);
    plan_.set_batches_per_epoch(100);
    plan_.set_total_batches(100);
    plan_.set_window(-1);
    plan_.mutable_partition()->set_ps_count(2);
    queue_.SetLimit(100);
  }

  // The number of its commands to pause is 7.
  Cut MakeCut() { return Cut(&plan_, /*generation=*/1, &queue_, {"steps"}, 0, 100, /*pause=*/7); }
  void Lease(uint32_t worker) {
    proto::WorkReport report;
    report.set_wanted(3);
    report.set_blocked_on(-1);
    queue_.Report(WorkerTask(worker), report, now_);
    ASSERT_FALSE(queue_.Grant(WorkerTask(worker), 2, now_).empty());
  }
  static proto::CutReply Reply(uint64_t cut, int64_t everywhere, int64_t somewhere) {
    proto::CutReply reply;
    reply.set_cut(cut);
    reply.set_generation(1);
    reply.mutable_ledger()->set_blocks(1);
    reply.mutable_ledger()->mutable_applied_on_all()->set_low_water(everywhere);
    reply.mutable_ledger()->mutable_applied_on_any()->set_low_water(somewhere);
    return reply;
  }

  const absl::Duration now_ = absl::Seconds(100);
  proto::JobPlan plan_;
  SplitQueue queue_;
  Outbox outbox_;
};

TEST_F(CutTest, ItWaitsForEveryWorkerThatPausesOrIsGone) {
  Lease(0);
  Lease(1);
  Cut cut = MakeCut();
  EXPECT_TRUE(cut.leasing_paused());
  cut.Begin(&outbox_);
  ASSERT_EQ(outbox_.commands.size(), 2u);
  EXPECT_EQ(outbox_.commands[1].task, WorkerTask(1));
  EXPECT_EQ(outbox_.commands[1].command.pause().pause_id(), 7u);
  cut.Paused(WorkerTask(0), 6);  // An older command.
  EXPECT_EQ(cut.NextNeeded(), "for worker 0 to finish its batch before the checkpoint");
  cut.Paused(WorkerTask(0), 7);
  EXPECT_FALSE(cut.AtRest());
  cut.WorkerGone(WorkerTask(1));
  EXPECT_TRUE(cut.AtRest());
}

TEST_F(CutTest, SynchronousJobsFinishTheLeasedUpdatesInstead) {
  plan_.set_synchronous(true);
  plan_.set_batches_per_update(8);
  Lease(0);
  Cut cut = MakeCut();
  EXPECT_EQ(cut.end(), 8);
  EXPECT_FALSE(cut.leasing_paused());
  cut.Begin(&outbox_);
  EXPECT_TRUE(outbox_.commands.empty());
  EXPECT_EQ(queue_.limit(), 8);
  EXPECT_FALSE(cut.AtRest());
  queue_.Drop(WorkerTask(0));
  queue_.Reconcile(BatchRanges(8, 100));
  EXPECT_TRUE(cut.AtRest());
}

TEST_F(CutTest, EqualLedgersMakeACut) {
  Cut cut = MakeCut();
  cut.Make(5, &outbox_);
  ASSERT_EQ(outbox_.commands.size(), 2u);
  EXPECT_EQ(outbox_.commands[1].task, PsTask(1));
  EXPECT_EQ(outbox_.commands[1].command.make_cut().cut(), 5u);
  EXPECT_EQ(outbox_.commands[1].command.make_cut().generation(), 1u);
  cut.Reply(0, Reply(5, 10, 10));
  cut.Reply(1, Reply(4, 10, 10));  // Of an older cut.
  proto::CutReply old = Reply(5, 10, 10);
  old.set_generation(0);
  cut.Reply(1, old);
  EXPECT_FALSE(cut.complete());
  EXPECT_EQ(cut.NextNeeded(), "for ps 1 to cut the checkpoint");
  cut.Reply(1, Reply(5, 10, 10));
  ASSERT_TRUE(cut.complete());
  const auto applied = cut.Result();
  ASSERT_TRUE(applied.ok());
  EXPECT_TRUE(applied->half.empty());
  EXPECT_EQ(applied->open.front(), 10);
  EXPECT_TRUE(cut.Consistent(*applied));
  EXPECT_EQ(cut.Record(*applied).cut(), 5u);
  EXPECT_EQ(cut.Record(*applied).applied_batches(), 10);
  EXPECT_EQ(cut.Record(*applied).ledger().low_water(), 10);
}

TEST_F(CutTest, BatchesOnSomeBlocksOnlyAreHalfApplied) {
  Cut cut = MakeCut();
  cut.Make(5, &outbox_);
  cut.Reply(0, Reply(5, 10, 10));
  cut.Reply(1, Reply(5, 9, 10));
  EXPECT_EQ(cut.Result()->half, BatchRanges(9, 10));
  EXPECT_FALSE(cut.Consistent(*cut.Result()));
}

TEST_F(CutTest, AtAnEpochsEndAllOfItsBatchesMustBeApplied) {
  Cut cut(&plan_, 1, &queue_, {"epoch", /*evaluate=*/true, /*epoch=*/0}, 0, 100, 7);
  cut.Make(5, &outbox_);
  cut.Reply(0, Reply(5, 99, 99));
  cut.Reply(1, Reply(5, 99, 99));
  EXPECT_FALSE(cut.Consistent(*cut.Result()));
}

TEST_F(CutTest, TheErrorOfAPsIsTheCutsAndNamesIt) {
  Cut cut = MakeCut();
  cut.Make(5, &outbox_);
  proto::CutReply reply = Reply(5, 0, 0);
  reply.set_error("out of memory");
  cut.Reply(0, reply);
  cut.Reply(1, Reply(5, 0, 0));
  const std::string message(cut.Result().status().message());
  EXPECT_NE(message.find("ps 0"), std::string::npos) << message;
  EXPECT_NE(message.find("out of memory"), std::string::npos) << message;
}

}  // namespace
}  // namespace cairn::coordinator

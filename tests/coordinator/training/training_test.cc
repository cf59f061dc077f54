#include "coordinator/training/training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/coordinator/training/training_fixture.h"

namespace cairn::coordinator {
namespace {

using TrainingTest = TrainingFixture;

TEST_F(TrainingTest, AWorkerThatLostItsLeasesMakesTheLedgersSpeak) {
  Start();
  Report(0, {}, 10);
  proto::WorkReport nothing;
  nothing.set_blocked_on(-1);
  Outbox outbox;
  now_.monotonic += absl::Seconds(5);
  training_->OnWork(WorkerTask(0), nothing, now_, &outbox);
  ASSERT_EQ(outbox.commands.size(), 1u);
  ASSERT_TRUE(outbox.commands[0].command.has_ledger_query());
  proto::LedgerReply reply;
  reply.set_query(outbox.commands[0].command.ledger_query().query());
  reply.set_generation(1);
  reply.set_blocks(1);
  reply.mutable_applied_on_all()->set_low_water(2);
  reply.mutable_applied_on_any()->set_low_water(2);
  training_->OnLedger(0, reply);
  EXPECT_EQ(Granted(Report(1, {}, 4)).front(), 2);
}

TEST_F(TrainingTest, OldGenerationsAndStrangersAreNotHeard) {
  Start();
  training_->RemoveWorker(WorkerTask(1));
  Report(1, {0, 1, 2}, 10);
  EXPECT_EQ(history_->NewestMeans().batches, 0);
  proto::CutReply reply;
  reply.set_cut(1);
  reply.set_generation(0);
  training_->OnCut(0, reply);
  EXPECT_FALSE(training_->finished());
}

TEST_F(TrainingTest, TheWorkOfAWorkerThatIsGoneGoesToTheOthers) {
  Start();
  EXPECT_EQ(Granted(Report(0, {}, 10)), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  Report(0, {1}, 0);
  training_->RemoveWorker(WorkerTask(0));
  EXPECT_EQ(Granted(Report(1, {}, 4)), (std::vector<int64_t>{0, 2, 3, 4}));
}

TEST_F(TrainingTest, AReportOfOneWorkerMakesRoomForAnUnderservedOne) {
  constexpr int64_t kFar = kLeasedAheadMax;
  plan_.set_batches_per_epoch(kFar + 1);
  plan_.set_total_batches(kFar + 1);
  BatchRanges open(0, 1);
  open.Add(kFar, kFar + 1);
  training_ = std::make_unique<Training>(Training::Context{&plan_, &run_, history_.get()}, open,
                                         std::vector<proto::Manifest>());
  training_->AddWorker(WorkerTask(0));
  training_->AddWorker(WorkerTask(1));
  EXPECT_EQ(Granted(Report(0, {}, 1)), (std::vector<int64_t>{0}));
  EXPECT_TRUE(Granted(Report(1, {}, 1)).empty());
  EXPECT_EQ(Granted(Report(0, {0}, 0)), (std::vector<int64_t>{kFar}));
}

TEST_F(TrainingTest, AfterARestartOfTheCoordinatorNothingIsLeasedForAWhile) {
  Start();
  Outbox outbox;
  training_->Resume(now_, &outbox);
  EXPECT_TRUE(Granted(Report(0, {}, 4)).empty());
  EXPECT_EQ(Granted(Advance(absl::Seconds(3))), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST_F(TrainingTest, TheStatusSaysWhereItIsAndHowFast) {
  Start();
  Report(0, {}, 4);
  for (const int64_t batch : {0, 1, 2, 3}) {
    now_.monotonic += absl::Milliseconds(100);
    Report(0, {batch}, 0);
  }
  proto::JobStatus status;
  status.set_total_batches(104);
  training_->FillStatus(now_.monotonic, &status);
  EXPECT_EQ(status.batches_done(), 4);
  EXPECT_EQ(status.batch_in_epoch(), 4);
  EXPECT_NEAR(status.examples_per_second(), 120, 30);
  EXPECT_NEAR(status.eta_seconds(), 10, 2.5) << "100 more at 10 a second";
}

TEST_F(TrainingTest, AStuckWorkersBatchesGoToOthersAndItsOwnResultStillCounts) {
  Start();
  EXPECT_EQ(Granted(Report(0, {}, 10)), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(Granted(Report(1, {}, 10)), (std::vector<int64_t>{5, 6, 7, 8, 9}));
  Outbox outbox;
  training_->SetStuck(WorkerTask(0), true, &outbox);
  ASSERT_EQ(outbox.commands.size(), 1u);
  EXPECT_TRUE(outbox.commands[0].command.has_pause()) << "it must not begin what others get";
  proto::WorkReport report;
  report.set_wanted(10);
  report.set_blocked_on(-1);
  Outbox granted;
  training_->OnWork(WorkerTask(0), report, now_, &granted);
  training_->Advance(now_, &granted);
  std::vector<proto::Command> commands = Report(1, {5, 6, 7, 8, 9}, 10);
  for (const Outbox::Sending& sending : granted.commands) {
    EXPECT_EQ(sending.task, WorkerTask(1)) << "a stuck worker gets nothing";
    commands.push_back(sending.command);
  }
  std::vector<int64_t> batches = Granted(commands);
  std::sort(batches.begin(), batches.end());
  EXPECT_EQ(batches, (std::vector<int64_t>{0, 1, 2, 3, 4}));
  // It was slow, not dead, and is first with batch 0.
  Report(0, {0}, 10);
  EXPECT_EQ(history_->NewestMeans().batches, 6);
  training_->SetStuck(WorkerTask(0), false, &outbox);
  Report(1, {0, 1, 2, 3, 4}, 10);
  EXPECT_EQ(history_->NewestMeans().batches, 10) << "each batch once";
}

}  // namespace
}  // namespace cairn::coordinator

#include "coordinator/training/training.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "storage/job_records.h"

namespace cairn::coordinator {
namespace {

// One ps whose ledger the test writes itself, and workers that say what the test says.
class TrainingTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string directory =
        absl::StrCat(::testing::TempDir(), "/training_",
                     ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory);
    journal_ = *storage::Journal::Open(directory);
    proto::JobRecord record;
    record.set_job_id(1);
    const std::vector<storage::Journal::Change> changes = {
        {storage::JobKey(1), record.SerializeAsString()}};
    ASSERT_TRUE(journal_->Write(changes, false).ok());
    history_ = *History::Load(journal_.get(), 1, 10, 0);
    plan_.set_job_id(1);
    plan_.set_batches_per_epoch(10);
    plan_.set_total_batches(20);
    plan_.set_batches_per_update(1);
    plan_.set_window(-1);
    plan_.set_batch_size(10);
    plan_.mutable_partition()->set_ps_count(1);
    run_.set_generation(1);
  }

  void Start() {
    training_ = std::make_unique<Training>(Training::Context{&plan_, &run_, history_.get()},
                                           BatchRanges(0, 20), std::vector<proto::Manifest>());
    training_->AddWorker(WorkerTask(0));
    training_->AddWorker(WorkerTask(1));
  }

  // What the training wants sent since the last call.
  std::vector<proto::Command> Advance(absl::Duration step = absl::Milliseconds(10)) {
    now_.monotonic += step;
    Outbox outbox;
    training_->Advance(now_, &outbox);
    for (auto& reply : outbox.replies) reply();
    std::vector<proto::Command> commands;
    for (auto& sending : outbox.commands) commands.push_back(sending.command);
    return commands;
  }

  std::vector<proto::Command> Report(uint32_t worker, const std::vector<int64_t>& batches,
                                     int64_t wanted) {
    proto::WorkReport report;
    report.set_wanted(wanted);
    report.set_queued(1);
    report.set_blocked_on(-1);
    for (const int64_t batch : batches) {
      proto::BatchRecord* record = report.add_batches();
      record->set_batch(batch);
      record->set_examples(10);
    }
    Outbox outbox;
    training_->OnWork(WorkerTask(worker), report, now_, &outbox);
    return Advance();
  }

  void AnswerCut(uint64_t cut, const BatchRanges& open_everywhere,
                 const BatchRanges& open_somewhere) {
    proto::CutReply reply;
    reply.set_cut(cut);
    reply.set_generation(1);
    reply.mutable_ledger()->set_blocks(2);
    *reply.mutable_ledger()->mutable_everywhere() = MakeLedgerState(open_everywhere, 20);
    *reply.mutable_ledger()->mutable_somewhere() = MakeLedgerState(open_somewhere, 20);
    training_->OnCut(0, reply);
  }

  static const proto::Command* Find(const std::vector<proto::Command>& commands,
                                    proto::Command::CommandCase kind) {
    for (const proto::Command& command : commands) {
      if (command.command_case() == kind) return &command;
    }
    return nullptr;
  }
  static std::vector<int64_t> Granted(const std::vector<proto::Command>& commands) {
    std::vector<int64_t> batches;
    for (const proto::Command& command : commands) {
      for (const proto::Split& split : command.grant().train()) {
        for (int64_t i = 0; i < split.count(); ++i) batches.push_back(split.first() + i);
      }
    }
    return batches;
  }

  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<History> history_;
  proto::JobPlan plan_;
  proto::RunRecord run_;
  std::unique_ptr<Training> training_;
  Moment now_{absl::Seconds(100), 0};
};

TEST_F(TrainingTest, TheNextEpochBeginsWhenTheLedgersOfTheLastAreWhole) {
  Start();
  EXPECT_EQ(Granted(Report(0, {}, 10)), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(Granted(Report(1, {}, 10)), (std::vector<int64_t>{5, 6, 7, 8, 9}));
  Report(0, {0, 1, 2, 3, 4}, 10);
  const auto commands = Report(1, {5, 6, 7, 8, 9}, 10);
  ASSERT_NE(Find(commands, proto::Command::kMakeCut), nullptr);
  EXPECT_TRUE(Granted(commands).empty());
  AnswerCut(1, BatchRanges(10, 20), BatchRanges(10, 20));
  const auto next = Advance();
  EXPECT_NE(Find(next, proto::Command::kPersist), nullptr);
  EXPECT_FALSE(Granted(next).empty());
  EXPECT_EQ(run_.epochs_cut(), 1);
}

TEST_F(TrainingTest, WhatTheLedgersLackIsLeasedAgainAndTheTornCutDropped) {
  Start();
  Report(0, {}, 10);
  Report(1, {}, 10);
  Report(0, {0, 1, 2, 3, 4}, 10);
  Report(1, {5, 6, 7, 8, 9}, 10);
  // Batch 4 is on one block only, whatever the worker said.
  BatchRanges everywhere(10, 20);
  everywhere.Add(4, 5);
  AnswerCut(1, everywhere, BatchRanges(10, 20));
  const auto commands = Advance();
  ASSERT_NE(Find(commands, proto::Command::kDropCut), nullptr);
  EXPECT_EQ(Granted(commands), (std::vector<int64_t>{4}));
  EXPECT_EQ(run_.epochs_cut(), 0);
  const auto again = Report(0, {4}, 10);
  ASSERT_NE(Find(again, proto::Command::kMakeCut), nullptr);
  EXPECT_EQ(Find(again, proto::Command::kMakeCut)->make_cut().cut(), 2u);  // Never the same id.
}

TEST_F(TrainingTest, AnAsynchronousCheckpointHoldsTheWorkersAndGivesTheRestOutAgain) {
  plan_.mutable_job()->mutable_checkpoint()->set_every_steps(2);
  Start();
  Report(0, {}, 10);
  Report(1, {}, 10);
  const auto commands = Report(0, {0, 1}, 0);
  const proto::Command* hold = Find(commands, proto::Command::kHold);
  ASSERT_NE(hold, nullptr);
  EXPECT_EQ(Find(commands, proto::Command::kMakeCut), nullptr);
  // Worker 0 gives back what it did not start; worker 1 dies.
  proto::Held held;
  held.set_hold_id(hold->hold().hold_id());
  proto::Split* returned = held.add_returned();
  returned->set_first(2);
  returned->set_stride(1);
  returned->set_count(3);
  training_->OnHeld(WorkerTask(0), held);
  EXPECT_EQ(Find(Advance(), proto::Command::kMakeCut), nullptr);
  training_->RemoveWorker(WorkerTask(1));
  ASSERT_NE(Find(Advance(), proto::Command::kMakeCut), nullptr);
  AnswerCut(1, BatchRanges(2, 20), BatchRanges(2, 20));
  const auto after = Advance();
  EXPECT_NE(Find(after, proto::Command::kPersist), nullptr);
  EXPECT_EQ(Granted(after).front(), 2);
  EXPECT_EQ(run_.held_cut().settled_batches(), 2);
}

TEST_F(TrainingTest, ACheckpointThatFallsDueWhileOneIsWrittenIsSkippedAndCounted) {
  plan_.mutable_job()->mutable_checkpoint()->set_every_steps(1);
  Start();
  training_->RemoveWorker(WorkerTask(1));
  Report(0, {}, 10);
  const auto hold = Report(0, {0}, 0);
  proto::Held held;
  held.set_hold_id(Find(hold, proto::Command::kHold)->hold().hold_id());
  training_->OnHeld(WorkerTask(0), held);
  Advance();
  AnswerCut(1, BatchRanges(1, 20), BatchRanges(1, 20));
  Advance();
  EXPECT_EQ(run_.checkpoints_skipped(), 0);
  Report(0, {1}, 0);
  EXPECT_EQ(run_.checkpoints_skipped(), 1);
}

TEST_F(TrainingTest, AFailedCheckpointIsCountedAndTrainingGoesOn) {
  Start();
  Report(0, {}, 10);
  Report(1, {}, 10);
  Report(0, {0, 1, 2, 3, 4}, 10);
  Report(1, {5, 6, 7, 8, 9}, 10);
  AnswerCut(1, BatchRanges(10, 20), BatchRanges(10, 20));
  Advance();
  proto::PersistReply reply;
  reply.set_cut(1);
  reply.set_generation(1);
  reply.set_error("no space left on device");
  training_->OnPersist(0, reply);
  const auto commands = Advance();
  EXPECT_NE(Find(commands, proto::Command::kDeleteCheckpoint), nullptr);
  EXPECT_NE(Find(commands, proto::Command::kDropCut), nullptr);
  EXPECT_EQ(run_.checkpoints_failed(), 1);
  EXPECT_NE(run_.checkpoint_error().find("no space left"), std::string::npos);
  EXPECT_TRUE(training_->manifests().empty());
}

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
  reply.mutable_everywhere()->set_low_water(2);
  reply.mutable_somewhere()->set_low_water(2);
  training_->OnLedger(0, reply);
  EXPECT_EQ(Granted(Report(1, {}, 4)).front(), 2);
}

TEST_F(TrainingTest, OldGenerationsAndStrangersAreNotHeard) {
  Start();
  training_->RemoveWorker(WorkerTask(1));
  Report(1, {0, 1, 2}, 10);
  EXPECT_TRUE(history_->recorded().empty());
  proto::CutReply reply;
  reply.set_cut(1);
  reply.set_generation(0);
  training_->OnCut(0, reply);
  EXPECT_FALSE(training_->finished());
}

}  // namespace
}  // namespace cairn::coordinator

#include "coordinator/training/checkpointer.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/coordinator/training/training_fixture.h"

namespace cairn::coordinator {
namespace {

class CheckpointerTest : public TrainingFixture {
 protected:
  // Both workers compute the first epoch, half of it each. Returns the commands after their last
  // report.
  std::vector<proto::Command> TrainFirstEpoch() {
    Report(0, {}, 10);
    Report(1, {}, 10);
    Report(0, {0, 1, 2, 3, 4}, 10);
    return Report(1, {5, 6, 7, 8, 9}, 10);
  }

  // The ps has made the cut, and has all batches before `batch`.
  void AnswerCutAt(int64_t batch, uint64_t cut = 1) {
    AnswerCut(cut, BatchRanges(batch, 20), BatchRanges(batch, 20));
  }

  // The worker has no batches to return.
  void AnswerPause(uint32_t worker, const std::vector<proto::Command>& commands) {
    proto::WorkPaused paused;
    paused.set_pause_id(Find(commands, proto::Command::kPause)->pause().pause_id());
    Outbox outbox;
    training_->OnPaused(WorkerTask(worker), paused, &outbox);
  }

  // The ps could not write the cut.
  void FailToWrite(uint64_t cut) {
    proto::PersistReply reply;
    reply.set_cut(cut);
    reply.set_generation(1);
    reply.set_error("no space left on device");
    training_->OnPersist(0, reply);
  }
};

TEST_F(CheckpointerTest, TheNextEpochBeginsWhenAllLedgersHaveTheLastOne) {
  Start();
  EXPECT_EQ(Granted(Report(0, {}, 10)), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(Granted(Report(1, {}, 10)), (std::vector<int64_t>{5, 6, 7, 8, 9}));
  Report(0, {0, 1, 2, 3, 4}, 10);
  const auto commands = Report(1, {5, 6, 7, 8, 9}, 10);
  ASSERT_NE(Find(commands, proto::Command::kMakeCut), nullptr);
  EXPECT_TRUE(Granted(commands).empty());
  AnswerCutAt(10);
  const auto next = Advance();
  EXPECT_NE(Find(next, proto::Command::kPersist), nullptr);
  EXPECT_FALSE(Granted(next).empty());
  EXPECT_EQ(run_.epochs_cut(), 1);
}

TEST_F(CheckpointerTest, OnlyEpochsOfTheValidationFreqAreEvaluated) {
  plan_.set_validation_examples(10);
  plan_.mutable_job()->set_validation_freq(2);
  Start();
  training_->RemoveWorker(WorkerTask(1));
  const std::vector<int64_t> first = Granted(Report(0, {}, 10));
  Report(0, Granted(Report(0, first, 10)), 10);
  AnswerCutAt(10);
  Advance();
  EXPECT_FALSE(run_.kept_cut().to_evaluate());
  EXPECT_EQ(run_.epochs_cut(), 1);
}

TEST_F(CheckpointerTest, MissingBatchesAreLeasedAgainAndTheTornCutIsDropped) {
  Start();
  TrainFirstEpoch();
  // Batch 4 is applied on one block only, whatever the worker reported.
  BatchRanges everywhere(10, 20);
  everywhere.Add(4, 5);
  AnswerCut(1, everywhere, BatchRanges(10, 20));
  const auto commands = Advance();
  ASSERT_NE(Find(commands, proto::Command::kDropCut), nullptr);
  EXPECT_EQ(Granted(commands), (std::vector<int64_t>{4}));
  EXPECT_EQ(run_.epochs_cut(), 0);
  const auto again = Report(0, {4}, 10);
  ASSERT_NE(Find(again, proto::Command::kMakeCut), nullptr);
  EXPECT_EQ(Find(again, proto::Command::kMakeCut)->make_cut().cut(), 2u);  // Never reused.
}

TEST_F(CheckpointerTest, AnAsynchronousCheckpointPausesTheWorkersAndGivesTheRestOutAgain) {
  plan_.mutable_job()->mutable_checkpoint()->set_every_steps(2);
  Start();
  Report(0, {}, 10);
  Report(1, {}, 10);
  const auto commands = Report(0, {0, 1}, 0);
  const proto::Command* pause = Find(commands, proto::Command::kPause);
  ASSERT_NE(pause, nullptr);
  EXPECT_EQ(Find(commands, proto::Command::kMakeCut), nullptr);
  // Worker 0 returns what it has not started; worker 1 dies.
  proto::WorkPaused paused;
  paused.set_pause_id(pause->pause().pause_id());
  proto::Split* returned = paused.add_returned();
  returned->set_first(2);
  returned->set_stride(1);
  returned->set_count(3);
  Outbox outbox;
  training_->OnPaused(WorkerTask(0), paused, &outbox);
  EXPECT_EQ(Find(Advance(), proto::Command::kMakeCut), nullptr);
  training_->RemoveWorker(WorkerTask(1));
  ASSERT_NE(Find(Advance(), proto::Command::kMakeCut), nullptr);
  AnswerCutAt(2);
  const auto after = Advance();
  EXPECT_NE(Find(after, proto::Command::kPersist), nullptr);
  EXPECT_EQ(Granted(after).front(), 2);
  EXPECT_EQ(run_.kept_cut().applied_batches(), 2);
}

TEST_F(CheckpointerTest, ACheckpointThatFallsDueWhileOneIsWrittenIsSkippedAndCounted) {
  plan_.mutable_job()->mutable_checkpoint()->set_every_steps(1);
  Start();
  training_->RemoveWorker(WorkerTask(1));
  Report(0, {}, 10);
  const auto pause = Report(0, {0}, 0);
  AnswerPause(0, pause);
  Advance();
  AnswerCutAt(1);
  Advance();
  EXPECT_EQ(run_.checkpoints_skipped(), 0);
  Report(0, {1}, 0);
  EXPECT_EQ(run_.checkpoints_skipped(), 1);
}

// The disk of a ps is slow. Training goes on; the second cut is taken when the first is written, so
// that memory holds one, and has what was trained meanwhile.
TEST_F(CheckpointerTest, ACheckpointThatIsAskedForWhileOneIsWrittenFollowsIt) {
  std::vector<std::string> answers;
  const auto ask = [&](const std::string& name) {
    training_->AskForCheckpoint(
        "asked", [&answers, name](absl::StatusOr<proto::Manifest> manifest) {
          answers.push_back(absl::StrCat(name, ": ",
                                         manifest.ok() ? absl::StrCat(manifest->applied_batches())
                                                       : std::string(manifest.status().message())));
        });
  };
  // The worker has computed these batches when it pauses.
  const auto cut = [&](const std::vector<proto::Command>& commands, uint64_t number, int64_t done) {
    ASSERT_NE(Find(commands, proto::Command::kPause), nullptr);
    proto::WorkPaused paused;
    paused.set_pause_id(Find(commands, proto::Command::kPause)->pause().pause_id());
    Outbox outbox;
    training_->OnPaused(WorkerTask(0), paused, &outbox);
    Advance();
    AnswerCut(number, BatchRanges(done, 20), BatchRanges(done, 20));
    ASSERT_NE(Find(Advance(), proto::Command::kPersist), nullptr);
  };
  Start();
  training_->RemoveWorker(WorkerTask(1));
  Report(0, {}, 10);
  Report(0, {0, 1}, 0);
  ask("first");
  ASSERT_NO_FATAL_FAILURE(cut(Advance(), 1, 2));
  ask("second");
  EXPECT_FALSE(Granted(Report(0, {}, 10)).empty()) << "training goes on";
  for (int64_t batch = 2; batch < 6; ++batch) {
    const auto commands = Report(0, {batch}, 1);
    EXPECT_EQ(Find(commands, proto::Command::kPause), nullptr);
    EXPECT_EQ(Find(commands, proto::Command::kMakeCut), nullptr);
  }
  const auto write = [&](uint64_t number) {
    proto::PersistReply reply;
    reply.set_cut(number);
    reply.set_generation(1);
    training_->OnPersist(0, reply);
    return Advance();
  };
  const auto next = write(1);
  EXPECT_EQ(answers, (std::vector<std::string>{"first: 2"}));
  ASSERT_NO_FATAL_FAILURE(cut(next, 2, 6));
  write(2);
  Advance();
  EXPECT_EQ(answers, (std::vector<std::string>{"first: 2", "second: 6"}));
}

TEST_F(CheckpointerTest, AFailedCheckpointIsCountedAndTrainingGoesOn) {
  Start();
  TrainFirstEpoch();
  AnswerCutAt(10);
  Advance();
  FailToWrite(1);
  const auto commands = Advance();
  EXPECT_NE(Find(commands, proto::Command::kDeleteCheckpoint), nullptr);
  EXPECT_NE(Find(commands, proto::Command::kDropCut), nullptr);
  EXPECT_EQ(run_.checkpoints_failed(), 1);
  EXPECT_NE(run_.checkpoint_error().find("no space left"), std::string::npos);
  EXPECT_TRUE(training_->manifests().empty());
}

// All batches are applied, but the disk of the ps refuses the last checkpoint.
TEST_F(CheckpointerTest, AfterTenTriesOfTheLastCheckpointTheJobFails) {
  run_.set_stop_at_batch(10);
  Start();
  TrainFirstEpoch();
  std::vector<int64_t> pauses;  // Seconds between the tries.
  for (uint64_t cut = 1; cut <= 10; ++cut) {
    AnswerCutAt(10, cut);
    Advance();
    FailToWrite(cut);
    const absl::Duration failed_at = now_.monotonic;
    auto commands = Advance();
    if (cut == 10) break;
    EXPECT_EQ(training_->failure(), "");
    EXPECT_NE(training_->WaitingFor().find(absl::StrCat("try ", cut, " of 10")), std::string::npos)
        << training_->WaitingFor();
    EXPECT_NE(training_->WaitingFor().find("no space left"), std::string::npos);
    while (Find(commands, proto::Command::kMakeCut) == nullptr) {
      ASSERT_LT(now_.monotonic - failed_at, absl::Minutes(2));
      commands = Advance(absl::Milliseconds(100));
    }
    pauses.push_back(absl::ToInt64Seconds(now_.monotonic - failed_at));
  }
  EXPECT_EQ(pauses, (std::vector<int64_t>{5, 10, 20, 40, 60, 60, 60, 60, 60}));
  EXPECT_NE(training_->failure().find("no space left on device"), std::string::npos);
  EXPECT_NE(training_->failure().find("cairn resume 1"), std::string::npos);
}

TEST_F(CheckpointerTest, ANewCoordinatorCountsTheTriesOfTheLastCheckpointOn) {
  run_.set_stop_at_batch(10);
  run_.set_last_checkpoint_failures(9);
  Start();
  TrainFirstEpoch();
  AnswerCutAt(10);
  Advance();
  FailToWrite(1);
  Advance();
  EXPECT_EQ(run_.last_checkpoint_failures(), 10);
  EXPECT_NE(training_->failure().find("no space left on device"), std::string::npos);
}

// A checkpoint that is due because the last restore moved parts.
TEST_F(CheckpointerTest, ARenewedCheckpointThatFailsIsNotTriedAgainAtOnce) {
  run_.set_renew_checkpoint(true);
  Start();
  ASSERT_NE(Find(Advance(), proto::Command::kMakeCut), nullptr);
  AnswerCutAt(0);
  ASSERT_NE(Find(Advance(), proto::Command::kPersist), nullptr);
  FailToWrite(1);
  EXPECT_EQ(Find(Advance(), proto::Command::kMakeCut), nullptr);
  EXPECT_EQ(Find(Advance(absl::Seconds(4)), proto::Command::kMakeCut), nullptr);
  EXPECT_NE(Find(Advance(absl::Seconds(2)), proto::Command::kMakeCut), nullptr);
}

TEST_F(CheckpointerTest, NoEpochWaitsForARenewedCheckpointThatFailed) {
  run_.set_renew_checkpoint(true);
  Start();
  Advance();
  AnswerCutAt(0);
  ASSERT_NE(Find(Advance(), proto::Command::kPersist), nullptr);
  FailToWrite(1);
  EXPECT_NE(Find(TrainFirstEpoch(), proto::Command::kMakeCut), nullptr);
}

TEST_F(CheckpointerTest, APsThatWritesNothingIsNotAwaited) {
  Start();
  TrainFirstEpoch();
  AnswerCutAt(10);
  Advance();
  // Slow is not dead: every piece that is written renews the patience.
  for (uint64_t piece = 1; piece <= 5; ++piece) {
    Advance(kProgressTimeout - absl::Seconds(1));
    training_->OnDiskProgress(0, piece, now_);
  }
  EXPECT_EQ(run_.checkpoints_failed(), 0);
  Advance(kProgressTimeout - absl::Seconds(1));
  EXPECT_EQ(run_.checkpoints_failed(), 0);
  const auto commands = Advance(absl::Seconds(2));
  EXPECT_EQ(run_.checkpoints_failed(), 1);
  EXPECT_EQ(run_.checkpoint_error(),
            "ps 0 could not write checkpoint 1: no answer and no progress for 1m; its disk may "
            "hang");
  EXPECT_NE(Find(commands, proto::Command::kDropCut), nullptr) << "the memory is freed";
  EXPECT_NE(Find(commands, proto::Command::kDeleteCheckpoint), nullptr);
  // Too late.
  proto::PersistReply reply;
  reply.set_cut(1);
  reply.set_generation(1);
  training_->OnPersist(0, reply);
  Advance();
  EXPECT_TRUE(training_->manifests().empty());
}

TEST_F(CheckpointerTest, APsThatDoesNotCutIsNotAwaited) {
  Start();
  TrainFirstEpoch();
  Advance();
  Advance(absl::Seconds(59));
  EXPECT_EQ(run_.checkpoints_failed(), 0);
  EXPECT_NE(Find(Advance(absl::Seconds(2)), proto::Command::kDropCut), nullptr);
  EXPECT_EQ(run_.checkpoints_failed(), 1);
  EXPECT_NE(Find(Advance(absl::Seconds(2)), proto::Command::kMakeCut), nullptr) << "again";
}

TEST_F(CheckpointerTest, AWorkerThatDoesNotPauseIsNotAwaited) {
  plan_.mutable_job()->mutable_checkpoint()->set_every_steps(2);
  Start();
  Report(0, {}, 10);
  Report(1, {}, 10);
  const auto commands = Report(0, {0, 1}, 0);
  AnswerPause(0, commands);
  Advance();
  EXPECT_EQ(Find(Advance(absl::Seconds(59)), proto::Command::kMakeCut), nullptr);
  EXPECT_NE(Find(Advance(absl::Seconds(2)), proto::Command::kMakeCut), nullptr);
}

}  // namespace
}  // namespace cairn::coordinator

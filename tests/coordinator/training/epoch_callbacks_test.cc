#include "coordinator/training/epoch_callbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "absl/time/clock.h"
#include "tests/common/faulty_files.h"
#include "tests/coordinator/training/training_fixture.h"

namespace cairn::coordinator {
namespace {

constexpr EventTime kNow = {absl::Seconds(3), 1785208329};

// A job of 4 epochs with 10 batches each.
class EpochCallbacksTest : public TrainingFixture {
 protected:
  void SetUp() override {
    TrainingFixture::SetUp();
    plan_.set_total_batches(40);
    plan_.set_validation_examples(10);
    plan_.mutable_job()->mutable_validation();
    plan_.mutable_job()->mutable_optimizer()->set_name("sgd");
    plan_.mutable_job()->mutable_optimizer()->set_learning_rate(1);
  }

  proto::Callback* AddCallback(const std::string& name) {
    proto::Callback* callback = plan_.mutable_job()->add_callbacks();
    callback->set_name(name);
    return callback;
  }

  std::unique_ptr<EpochCallbacks> Make() {
    return std::make_unique<EpochCallbacks>(EpochCallbacks::Context{&plan_, &run_, history_.get()});
  }

  void Evaluated(int64_t epoch, double loss) {
    proto::EvaluationRecord record;
    record.set_epoch(epoch);
    record.set_examples(10);
    record.set_loss(loss);
    Outbox outbox;
    history_->Add(record, &outbox);
    Write(outbox);
  }

  void Write(const Outbox& outbox) {
    if (outbox.changes.empty()) return;
    ASSERT_TRUE(journal_->Write(outbox.changes, false).ok());
  }

  // Replaces the process: only the journal is left.
  void Crash() {
    const auto records = storage::ReadJob(*journal_, 1);
    ASSERT_TRUE(records.ok());
    run_ = records->run;
    history_ = *History::Load(*journal_, plan_);
  }

  static proto::Manifest ManifestAt(uint64_t checkpoint, int64_t batches) {
    proto::Manifest manifest;
    manifest.set_checkpoint(checkpoint);
    manifest.set_applied_batches(batches);
    manifest.mutable_ledger()->set_low_water(batches);
    return manifest;
  }
};

TEST_F(EpochCallbacksTest, WithoutCallbacksNothingWaits) {
  auto ends = Make();
  run_.set_epochs_cut(2);
  EXPECT_TRUE(ends->complete());
  EXPECT_EQ(ends->EpochsAllowed(), 3);
}

TEST_F(EpochCallbacksTest, TheNextEpochWaitsForTheEvaluationAndTheDecision) {
  AddCallback("early_stopping");
  auto ends = Make();
  EXPECT_EQ(ends->EpochsAllowed(), 1);
  run_.set_epochs_cut(1);
  run_.mutable_kept_cut()->set_to_evaluate(true);
  Outbox outbox;
  ends->Advance(kNow, &outbox);
  EXPECT_FALSE(ends->complete());
  EXPECT_EQ(ends->EpochsAllowed(), 1);
  Evaluated(0, 0.5);
  ends->Advance(kNow, &outbox);
  EXPECT_TRUE(ends->complete());
  EXPECT_EQ(ends->EpochsAllowed(), 2);
  EXPECT_TRUE(outbox.sync);
}

TEST_F(EpochCallbacksTest, AModelCheckpointDoesNotDelayTraining) {
  AddCallback("model_checkpoint")->set_save_best_only(true);
  auto ends = Make();
  run_.set_epochs_cut(1);
  EXPECT_EQ(ends->EpochsAllowed(), 2);
}

TEST_F(EpochCallbacksTest, ADecisionIsJournalledWithTheBatchFromWhichItHolds) {
  proto::Callback* reduce = AddCallback("reduce_lr_on_plateau");
  reduce->set_patience(1);
  reduce->set_factor(0.5);
  AddCallback("early_stopping")->set_patience(2);
  auto ends = Make();
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    run_.set_epochs_cut(epoch + 1);
    Evaluated(epoch, 1.0 + static_cast<double>(epoch));
    Outbox outbox;
    ends->Advance(kNow, &outbox);
    Write(outbox);
  }
  Crash();
  // The stop ends the job before the new rate holds for any batch.
  ASSERT_EQ(run_.rates_size(), 2);
  EXPECT_EQ(run_.rates(0).from_batch(), 0);
  EXPECT_EQ(run_.rates(1).from_batch(), 20);
  EXPECT_EQ(run_.rates(1).learning_rate(), 0.5);
  EXPECT_EQ(run_.stop_at_batch(), 30);
  ASSERT_EQ(run_.notes_size(), 3);
  EXPECT_EQ(run_.notes(0).unix_seconds(), kNow.unix_seconds);
  // The next process has no epoch left to decide.
  auto again = Make();
  EXPECT_TRUE(again->complete());
  EXPECT_EQ(run_.rates_size(), 2);
}

TEST_F(EpochCallbacksTest, ADecisionThatWasNotWrittenIsMadeAgain) {
  AddCallback("early_stopping");
  auto ends = Make();
  Outbox saved;
  saved.PutSynced(storage::RunKey(1), run_);
  Write(saved);
  run_.set_epochs_cut(1);
  Evaluated(0, 1);
  Outbox lost;
  ends->Advance(kNow, &lost);
  Crash();
  run_.set_epochs_cut(1);
  auto again = Make();
  EXPECT_FALSE(again->complete());
  Outbox outbox;
  again->Advance(kNow, &outbox);
  EXPECT_TRUE(again->complete());
}

TEST_F(EpochCallbacksTest, ARollbackForgetsDecisionsAboutEpochsTrainedAgain) {
  proto::RunRecord run;
  for (const int64_t batch : {0, 20, 30}) run.add_rates()->set_from_batch(batch);
  run.set_stop_at_batch(40);
  EpochCallbacks::Prepare(plan_, 25, &run);
  EXPECT_EQ(run.rates_size(), 2);
  EXPECT_FALSE(run.has_stop_at_batch());
  EpochCallbacks::Prepare(plan_, 0, &run);
  EXPECT_EQ(run.rates_size(), 1);
}

TEST_F(EpochCallbacksTest, RatesThatAreFixedInAdvanceStayInARollback) {
  AddCallback("learning_rate_warmup")->set_size(4);
  plan_.mutable_job()->mutable_callbacks(0)->set_warmup_epochs(2);
  proto::Callback* reduce = AddCallback("reduce_lr_on_plateau");
  reduce->set_patience(1);
  reduce->set_factor(0.5);
  EpochCallbacks::Prepare(plan_, 0, &run_);
  auto ends = Make();
  // Every epoch is worse. In the warm-up the decision has no effect, as in Horovod.
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    run_.set_epochs_cut(epoch + 1);
    Evaluated(epoch, 1.0 + static_cast<double>(epoch));
    Outbox outbox;
    ends->Advance(kNow, &outbox);
    Write(outbox);
  }
  const auto rate_at = [this](int64_t batch) { return storage::RateOfBatch(run_, batch); };
  EXPECT_FLOAT_EQ(rate_at(0), 0.25 * (0.1 * 3 / 2 + 1));
  EXPECT_FLOAT_EQ(rate_at(19), 1);
  EXPECT_EQ(rate_at(20), 0.5);
  EXPECT_EQ(rate_at(30), 0.25);
  EpochCallbacks::Prepare(plan_, 20, &run_);
  EXPECT_EQ(rate_at(30), 0.5);
  EpochCallbacks::Prepare(plan_, 15, &run_);
  EXPECT_FLOAT_EQ(rate_at(15), 0.25 * (1.6 * 3 / 2 + 1));
  EXPECT_EQ(rate_at(39), 1);
}

TEST_F(EpochCallbacksTest, ADecisionInTheWarmUpHasNoEffect) {
  AddCallback("learning_rate_warmup")->set_size(4);
  proto::Callback* reduce = AddCallback("reduce_lr_on_plateau");
  reduce->set_patience(1);
  EpochCallbacks::Prepare(plan_, 0, &run_);
  auto ends = Make();
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    run_.set_epochs_cut(epoch + 1);
    Evaluated(epoch, 1);
    Outbox outbox;
    ends->Advance(kNow, &outbox);
  }
  EXPECT_FLOAT_EQ(storage::RateOfBatch(run_, 20), 0.25 * (2.1 * 3 / 5 + 1));
  ASSERT_EQ(run_.notes_size(), 2);
  EXPECT_EQ(run_.notes(1).text(), "the warm-up goes on: learning_rate_warmup sets the rate");
}

// Every line once, whatever is lost: the file has the epochs that the journal has.
TEST_F(EpochCallbacksTest, TheCsvFileHasEachEpochOnceAfterCrashesAndRollbacks) {
  const std::string file = ::testing::TempDir() + "/epochs.csv";
  std::ofstream(file) << "before\r\n";
  proto::Callback* log = AddCallback("csv_logger");
  log->set_filename(file);
  log->set_append(true);
  EpochCallbacks::Prepare(plan_, 0, &run_);
  Outbox begun;
  begun.PutSynced(storage::RunKey(1), run_);
  Write(begun);
  const auto decide = [&](int64_t epoch, bool survives) {
    auto ends = Make();
    run_.set_epochs_cut(epoch + 1);
    Evaluated(epoch, 0.5);
    Outbox outbox;
    ends->Advance(kNow, &outbox);
    if (survives) Write(outbox);
    Crash();
  };
  const auto text = [&] {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  decide(0, true);
  // The journal lost this decision; the file has its line.
  decide(1, false);
  EXPECT_EQ(text(), "before\r\n0,0.0,0.5\r\n1,0.0,0.5\r\n");
  decide(1, true);
  EXPECT_EQ(text(), "before\r\n0,0.0,0.5\r\n1,0.0,0.5\r\n");
  decide(2, true);
  // A rollback into epoch 1.
  Outbox outbox;
  ASSERT_TRUE(history_->RollBack(*journal_, 0, BatchRanges(15, 40), &outbox).ok());
  Write(outbox);
  EpochCallbacks::Prepare(plan_, 15, &run_);
  Make();
  EXPECT_EQ(text(), "before\r\n0,0.0,0.5\r\n");
  EXPECT_EQ(run_.csv_begins(0), 8);
  // Somebody removes it. It gets all lines, from its first byte on, and so it stays.
  ASSERT_EQ(std::remove(file.c_str()), 0);
  decide(1, true);
  const std::string header = "epoch,loss,val_loss\r\n";
  EXPECT_EQ(text(), header + "0,0.0,0.5\r\n1,0.0,0.5\r\n");
  EXPECT_EQ(run_.csv_begins(0), 0);
  decide(2, true);
  EXPECT_EQ(text(), header + "0,0.0,0.5\r\n1,0.0,0.5\r\n2,0.0,0.5\r\n");
  // Another job appends to it when this one has ended.
  EXPECT_TRUE(EpochCallbacks::CheckFiles(plan_, run_).ok());
  std::ofstream(file, std::ios::app) << "0,1.0,NA\r\n";
  EXPECT_TRUE(absl::IsFailedPrecondition(EpochCallbacks::CheckFiles(plan_, run_)));
  // The journal of an older version does not say how the file was left.
  run_.clear_csv_ends();
  EXPECT_TRUE(EpochCallbacks::CheckFiles(plan_, run_).ok());
}

TEST_F(EpochCallbacksTest, AFileThatCannotBeWrittenIsNotedOnce) {
  AddCallback("csv_logger")->set_filename("/no/such/folder/log.csv");
  EpochCallbacks::Prepare(plan_, 0, &run_);
  auto ends = Make();
  run_.set_epochs_cut(2);
  Evaluated(0, 0.5);
  Evaluated(1, 0.5);
  Outbox outbox;
  ends->Advance(kNow, &outbox);
  EXPECT_TRUE(ends->complete());
  ASSERT_EQ(run_.notes_size(), 1);
  EXPECT_EQ(run_.notes(0).text(),
            "WARNING: csv_logger: /no/such/folder/log.csv: cannot be written: No such file or "
            "directory; tried again with the next epoch");
}

// The epochs of a job go on while its file hangs, and through a restart of the coordinator.
TEST_F(EpochCallbacksTest, AFileThatHangsStopsNothingAndGetsEachLineOnce) {
  const std::string file = ::testing::TempDir() + "/hanging_epochs.csv";
  std::ofstream(file) << "before\r\n";
  proto::Callback* log = AddCallback("csv_logger");
  log->set_filename(file);
  log->set_append(true);
  EpochCallbacks::Prepare(plan_, 0, &run_);
  auto ends = Make();
  const auto decide = [&](int64_t epoch) {
    run_.set_epochs_cut(epoch + 1);
    Evaluated(epoch, 0.5);
    Outbox outbox;
    ends->Advance(kNow, &outbox);
    Write(outbox);
    EXPECT_TRUE(ends->complete());
  };
  const auto text = [&] {
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  decide(0);
  const std::string rules = ::testing::TempDir() + "/epochs_rules";
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  const cairn::testing::FaultyFiles faults(rules);
  faults.Set({{"write", "/hanging_epochs.csv"}});
  decide(1);
  decide(2);
  ASSERT_EQ(run_.notes_size(), 1) << "it is noted once";
  EXPECT_THAT(run_.notes(0).text(),
              ::testing::MatchesRegex("WARNING: csv_logger: " + file +
                                      ": has not answered for .*; check the disk or the file "
                                      "server that it is on; the job goes on, and its lines are "
                                      "written when it answers"));
  EXPECT_EQ(text(), "before\r\n0,0.0,0.5\r\n");
  EXPECT_LT(run_.csv_ends(0), run_.csv_whole_ends(0));
  Crash();
  ends = Make();
  decide(3);
  EXPECT_THAT(run_.notes(run_.notes_size() - 1).text(),
              ::testing::EndsWith("its last lines are written when it answers, unless the "
                                  "coordinator ends before"));
  faults.Clear();
  EventTime now = kNow;
  const std::string answers = "csv_logger: all files answer again, and have all lines";
  for (int i = 0; i < 3000 && run_.notes(run_.notes_size() - 1).text() != answers; ++i) {
    now.monotonic += absl::Milliseconds(60);
    Outbox outbox;
    ends->Advance(now, &outbox);
    Write(outbox);
    absl::SleepFor(absl::Milliseconds(10));
  }
  EXPECT_EQ(text(), "before\r\n0,0.0,0.5\r\n1,0.0,0.5\r\n2,0.0,0.5\r\n3,0.0,0.5\r\n");
  EXPECT_EQ(run_.notes(run_.notes_size() - 1).text(), answers);
  EXPECT_EQ(run_.csv_ends(0), run_.csv_whole_ends(0));
  Crash();
  EXPECT_TRUE(EpochCallbacks::CheckFiles(plan_, run_).ok());
}

TEST_F(EpochCallbacksTest, TheBestCheckpointIsTheOneAtTheEndOfTheBestEpoch) {
  AddCallback("model_checkpoint")->set_save_best_only(true);
  auto ends = Make();
  for (const auto& [epoch, loss] : std::vector<std::pair<int64_t, double>>{{0, 2}, {1, 1}}) {
    run_.set_epochs_cut(epoch + 1);
    Evaluated(epoch, loss);
    Outbox outbox;
    ends->Advance(kNow, &outbox);
    Write(outbox);
  }
  Outbox outbox;
  EXPECT_TRUE(ends->ChooseBest({ManifestAt(3, 10), ManifestAt(4, 17), ManifestAt(5, 20)}, &outbox));
  ASSERT_EQ(run_.best_size(), 1);
  EXPECT_EQ(run_.best(0).checkpoint(), 5u);
  EXPECT_EQ(run_.best(0).monitor(), "val_loss");
  EXPECT_EQ(run_.best(0).value(), 1);
  EXPECT_FALSE(
      ends->ChooseBest({ManifestAt(3, 10), ManifestAt(4, 17), ManifestAt(5, 20)}, &outbox));
}

TEST_F(EpochCallbacksTest, WhileTheBestOneIsNotWrittenTheOneBeforeStays) {
  AddCallback("model_checkpoint")->set_save_best_only(true);
  auto ends = Make();
  Outbox outbox;
  run_.set_epochs_cut(1);
  Evaluated(0, 2);
  ends->Advance(kNow, &outbox);
  ends->ChooseBest({ManifestAt(3, 10)}, &outbox);
  run_.set_epochs_cut(2);
  Evaluated(1, 1);
  ends->Advance(kNow, &outbox);
  EXPECT_FALSE(ends->ChooseBest({ManifestAt(3, 10)}, &outbox));
  EXPECT_EQ(run_.best(0).checkpoint(), 3u);
}

}  // namespace
}  // namespace cairn::coordinator

#include "coordinator/training/training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
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

// A faulty worker, or somebody who pretends to be one, changes nothing.
TEST_F(TrainingTest, ForgedResultsAreRefusedAndCounted) {
  plan_.set_validation_examples(20);
  Start();
  ASSERT_EQ(Granted(Report(0, {}, 5)), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  proto::BatchRecord good;
  good.set_batch(0);
  good.set_examples(10);
  good.set_loss(1);
  const auto forged = [&](auto change) {
    proto::BatchRecord record = good;
    change(&record);
    return record;
  };
  const std::map<std::string, proto::BatchRecord> records = {
      {"of another worker's batch", forged([](auto* record) { record->set_batch(1); })},
      {"of a batch that nobody has", forged([](auto* record) { record->set_batch(9); })},
      {"of no batch", forged([](auto* record) { record->set_batch(20); })},
      {"of a negative batch", forged([](auto* record) { record->set_batch(-1); })},
      {"without examples", forged([](auto* record) { record->set_examples(0); })},
      {"with a metric that the job lacks", forged([](auto* record) { record->add_metrics(1); })},
      {"with sums of a metric that the job lacks", forged([](auto* record) {
         record->add_metrics(1);
         record->add_metric_states();
       })},
      {"with sums of no metric", forged([](auto* record) { record->add_metric_states(); })},
      {"rejected", forged([](auto* record) {
         record->set_batch(1);
         record->set_rejected(true);
       })},
  };
  // Worker 0 has the batches below 5.
  const std::set<std::string> of_strangers = {"of another worker's batch", "rejected"};
  for (const auto& [name, record] : records) {
    SCOPED_TRACE(name);
    const TaskId worker = WorkerTask(of_strangers.contains(name) ? 1 : 0);
    proto::WorkReport report;
    report.set_generation(1);
    *report.add_batches() = record;
    Outbox outbox;
    training_->OnWork(worker, report, now_, &outbox);
    ASSERT_EQ(outbox.refused.size(), 1u);
    EXPECT_EQ(outbox.refused[0].task, worker);
    EXPECT_EQ(history_->NewestMeans().batches, 0);
    EXPECT_EQ(training_->failure(), "");
    proto::JobStatus status;
    training_->FillStatus(now_.monotonic, &status);
    EXPECT_EQ(status.batches_done(), 0);
  }
  // The honest results in the same report count.
  proto::WorkReport report;
  report.set_generation(1);
  *report.add_batches() = good;
  *report.add_batches() = records.at("of a batch that nobody has");
  Outbox outbox;
  training_->OnWork(WorkerTask(0), report, now_, &outbox);
  EXPECT_EQ(outbox.refused.size(), 1u);
  EXPECT_EQ(history_->NewestMeans().batches, 1);
}

TEST_F(TrainingTest, ForgedSplitsAreRefusedAndCounted) {
  Start();
  ASSERT_EQ(Granted(Report(0, {}, 5)), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  Outbox outbox;
  proto::WorkPaused paused;
  proto::Split* const split = paused.add_returned();
  split->set_stride(1);
  split->set_count(int64_t{1} << 40);
  training_->OnPaused(WorkerTask(0), paused, &outbox);
  ASSERT_EQ(outbox.refused.size(), 1u);
  training_->Adopt(WorkerTask(1), std::vector<proto::Split>{*split}, &outbox);
  ASSERT_EQ(outbox.refused.size(), 2u);
  EXPECT_EQ(outbox.refused[1].task, WorkerTask(1));
  EXPECT_EQ(Granted(Report(1, {}, 5)), (std::vector<int64_t>{5, 6, 7, 8, 9}));
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

TEST_F(TrainingTest, ASlowWorkerHoldsUpNoEpoch) {
  Start();
  EXPECT_EQ(Granted(Report(0, {}, 10)), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(Granted(Report(1, {}, 10)), (std::vector<int64_t>{5, 6, 7, 8, 9}));
  now_.monotonic += absl::Milliseconds(500);
  Report(1, {5, 6, 7, 8, 9}, 10);
  now_.monotonic += absl::Milliseconds(400);
  EXPECT_TRUE(Advance().empty());
  now_.monotonic += absl::Milliseconds(200);
  const std::vector<proto::Command> commands = Advance();
  const proto::Command* const pause = Find(commands, proto::Command::kPause);
  ASSERT_NE(pause, nullptr);
  EXPECT_EQ(pause->pause().pause_id(), 0u);
  EXPECT_EQ(Granted(commands), (std::vector<int64_t>{0, 1, 2, 3, 4}));
  // The cut waits for no worker.
  EXPECT_NE(Find(Report(1, {0, 1, 2, 3, 4}, 10), proto::Command::kMakeCut), nullptr);
  EXPECT_EQ(history_->NewestMeans().batches, 10);
  Report(0, {0}, 0);
  EXPECT_EQ(history_->NewestMeans().batches, 10) << "worker 1 was first";
  EXPECT_EQ(Find(Advance(), proto::Command::kRefused), nullptr);
}

// A training of two epochs of 10 batches with 400 batches to evaluate after each, by worker 0,
// worker 1 and evaluator 0.
class EvaluatorTest : public TrainingFixture {
 protected:
  void StartWithEvaluator() {
    plan_.set_validation_examples(4000);
    Start();
    training_->AddWorker(kEvaluator);
  }

  std::string WaitingFor() {
    proto::JobStatus status;
    training_->FillStatus(now_.monotonic, &status);
    return status.waiting_for();
  }

  // The tasks that are granted batches to evaluate, if each says that it has nothing left.
  std::set<TaskId> GrantedEvaluation() {
    for (const TaskId task : {WorkerTask(0), WorkerTask(1), kEvaluator}) {
      proto::WorkReport report;
      report.set_blocked_on(-1);
      Outbox outbox;
      training_->OnWork(task, report, now_, &outbox);
    }
    now_.monotonic += absl::Milliseconds(10);
    Outbox outbox;
    training_->Advance(now_, &outbox);
    std::set<TaskId> tasks;
    for (const Outbox::Sending& sending : outbox.commands) {
      if (sending.command.grant().evaluate_size() > 0) tasks.insert(sending.task);
    }
    return tasks;
  }

  // Worker 0 trains until a cut is made, which has all that was trained.
  void TrainUntilCut(int64_t first, int64_t last) {
    std::vector<int64_t> granted = Granted(Report(0, {}, 10));
    uint64_t cut = 0;
    while (cut == 0) {
      const auto commands = granted.empty() ? Advance() : Report(0, granted, 10);
      granted = Granted(commands);
      for (const int64_t batch : granted) ASSERT_LE(first, batch);
      for (const int64_t batch : granted) ASSERT_LT(batch, last);
      if (const proto::Command* command = Find(commands, proto::Command::kMakeCut)) {
        cut = command->make_cut().cut();
      }
      ASSERT_LT(now_.monotonic, absl::Seconds(200));
    }
    AnswerCut(cut, BatchRanges(last, 20), BatchRanges(last, 20));
  }

  const TaskId kEvaluator = {proto::EVALUATOR, 0};
};

TEST_F(EvaluatorTest, WorkersDoNotEvaluateWhileAnEvaluatorIsThere) {
  StartWithEvaluator();
  ASSERT_NO_FATAL_FAILURE(TrainUntilCut(0, 10));
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({kEvaluator}));
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>()) << "it has enough on hand";
}

TEST_F(EvaluatorTest, ForgedEvaluationsDoNotCount) {
  StartWithEvaluator();
  ASSERT_NO_FATAL_FAILURE(TrainUntilCut(0, 10));
  ASSERT_EQ(GrantedEvaluation(), std::set<TaskId>({kEvaluator}));
  const std::string before = training_->Progress();
  proto::WorkReport report;
  report.set_blocked_on(-1);
  proto::EvaluatedBatch& batch = *report.add_evaluated();
  batch.set_cut(run_.last_cut());
  batch.set_examples(10);
  Outbox outbox;
  // It may have had the batch once: that is no offense.
  training_->OnWork(WorkerTask(0), report, now_, &outbox);
  EXPECT_EQ(training_->Progress(), before);
  EXPECT_TRUE(outbox.refused.empty());
  batch.set_batch(400);
  training_->OnWork(WorkerTask(0), report, now_, &outbox);
  EXPECT_EQ(training_->Progress(), before);
  ASSERT_EQ(outbox.refused.size(), 1u) << "there is no such batch";
  batch.set_batch(0);
  training_->OnWork(kEvaluator, report, now_, &outbox);
  EXPECT_NE(training_->Progress(), before) << "this one has it";
}

TEST_F(EvaluatorTest, WorkersEvaluateWhenTheEvaluatorIsGone) {
  StartWithEvaluator();
  ASSERT_NO_FATAL_FAILURE(TrainUntilCut(0, 10));
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({kEvaluator}));
  training_->RemoveWorker(kEvaluator);
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({WorkerTask(0), WorkerTask(1)}));
}

TEST_F(EvaluatorTest, WorkersEvaluateWhenTheEvaluatorIsStuck) {
  StartWithEvaluator();
  ASSERT_NO_FATAL_FAILURE(TrainUntilCut(0, 10));
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({kEvaluator}));
  Outbox outbox;
  training_->SetStuck(kEvaluator, true, &outbox);
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({WorkerTask(0), WorkerTask(1)}));
}

TEST_F(EvaluatorTest, WorkersHelpAtTheEndOfTheNextEpoch) {
  StartWithEvaluator();
  ASSERT_NO_FATAL_FAILURE(TrainUntilCut(0, 10));
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({kEvaluator}));
  int trained = 0;
  for (std::vector<int64_t> granted = Granted(Report(0, {}, 10)); !granted.empty();) {
    trained += static_cast<int>(granted.size());
    const std::vector<proto::Command> commands = Report(0, granted, 10);
    granted = Granted(commands);
    const auto evaluate = std::count_if(
        commands.begin(), commands.end(),
        [](const proto::Command& command) { return command.grant().evaluate_size() > 0; });
    EXPECT_EQ(evaluate, granted.empty() ? 2 : 0) << "the evaluator has enough on hand";
  }
  EXPECT_EQ(trained, 10);
}

TEST_F(EvaluatorTest, AJobWithEvaluatorsOnlyWaitsForWorkers) {
  StartWithEvaluator();
  training_->RemoveWorker(WorkerTask(0));
  EXPECT_EQ(WaitingFor(), "");
  training_->RemoveWorker(WorkerTask(1));
  EXPECT_EQ(WaitingFor(), "for workers");
  training_->AddWorker(WorkerTask(0));
  EXPECT_EQ(WaitingFor(), "");
}

TEST_F(EvaluatorTest, WorkersHelpIfTheNextEpochWaitsForTheResult) {
  plan_.mutable_job()->set_validation_fraction(0.5);
  plan_.mutable_job()->add_callbacks()->set_name("early_stopping");
  StartWithEvaluator();
  ASSERT_NO_FATAL_FAILURE(TrainUntilCut(0, 10));
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({WorkerTask(0), WorkerTask(1), kEvaluator}));
}

TEST_F(EvaluatorTest, WorkersHelpIfACheckpointWaitsForTheEvaluation) {
  StartWithEvaluator();
  ASSERT_NO_FATAL_FAILURE(TrainUntilCut(0, 10));
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({kEvaluator}));
  training_->AskForCheckpoint("user", [](const absl::StatusOr<proto::Manifest>&) {});
  EXPECT_EQ(GrantedEvaluation(), std::set<TaskId>({WorkerTask(0), WorkerTask(1)}));
  Outbox outbox;
  training_->Abandon(absl::CancelledError("the test is over"), &outbox);
  for (auto& reply : outbox.replies) reply();
}

}  // namespace
}  // namespace cairn::coordinator

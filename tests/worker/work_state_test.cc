#include "worker/work_state.h"

#include <vector>

#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

constexpr JobKey kKey{3, 1};

proto::Command StartJob(uint64_t generation) {
  proto::Command command;
  proto::JobPlan* plan = command.mutable_start_job()->mutable_plan();
  plan->set_job_id(3);
  plan->set_total_batches(1000);
  plan->set_validation_examples(100);
  command.mutable_start_job()->set_generation(generation);
  return command;
}

proto::Command Grant(uint64_t generation, int64_t first, int64_t count) {
  proto::Command command;
  proto::Grant* grant = command.mutable_grant();
  grant->set_job_id(3);
  grant->set_generation(generation);
  proto::Split* split = grant->add_train();
  split->set_first(first);
  split->set_stride(1);
  split->set_count(count);
  return command;
}

proto::Command PauseCommand() {
  proto::Command command;
  command.mutable_pause()->set_pause_id(5);
  return command;
}

proto::BatchRecord Record(int64_t batch) {
  proto::BatchRecord record;
  record.set_batch(batch);
  return record;
}

class WorkStateTest : public ::testing::Test {
 protected:
  // A worker that has loaded generation 1.
  void SetUp() override {
    state_.OnCommand(StartJob(1));
    EXPECT_EQ(state_.NextItem()->kind, WorkItem::Kind::kStartJob);
    state_.Ready(kKey);
    Messages();
  }

  std::vector<proto::TaskMessage> Messages() {
    now_ += absl::Milliseconds(60);
    return state_.TakeMessages(now_);
  }

  int64_t NextBatch() {
    const auto task = state_.NextItem();
    return task && task->kind == WorkItem::Kind::kTrain ? task->batch : -1;
  }

  WorkState state_;
  absl::Duration now_;
};

TEST_F(WorkStateTest, ANewGenerationMayComeWithoutThePlan) {
  proto::Command command = StartJob(2);
  command.mutable_start_job()->set_plan_fingerprint(9);
  state_.OnCommand(command);
  proto::Join join;
  state_.FillJoin(&join);
  EXPECT_EQ(join.plan_fingerprint(), 9u);
  command.mutable_start_job()->clear_plan();
  command.mutable_start_job()->set_job_id(3);
  command.mutable_start_job()->set_generation(5);
  state_.OnCommand(command);
  const std::optional<WorkItem> item = state_.NextItem();
  ASSERT_TRUE(item.has_value() && item->kind == WorkItem::Kind::kStartJob);
  EXPECT_EQ(item->job->generation(), 5u);
  EXPECT_EQ(item->job->plan().total_batches(), 1000);
}

TEST_F(WorkStateTest, AMissingPlanIsReportedAsATransientFailure) {
  proto::Command command;
  command.mutable_start_job()->set_job_id(4);
  command.mutable_start_job()->set_generation(6);
  command.mutable_start_job()->set_plan_fingerprint(9);
  state_.OnCommand(command);
  EXPECT_FALSE(state_.NextItem().has_value());
  for (const proto::TaskMessage& message : Messages()) {
    if (!message.has_failure()) continue;
    EXPECT_EQ(message.failure().job_id(), 4u);
    EXPECT_EQ(message.failure().generation(), 6u);
    EXPECT_TRUE(message.failure().transient());
    return;
  }
  FAIL() << "no failure was reported";
}

// Otherwise a worker that is wrong about it would keep its leases and say nothing for ever.
TEST_F(WorkStateTest, AGenerationThatAPsRefusesIsReportedUntilAnotherOneStarts) {
  const auto reports = [this](absl::Duration passed) {
    now_ += passed;
    int count = 0;
    for (const proto::TaskMessage& message : state_.TakeMessages(now_)) {
      if (!message.work().generation_over()) continue;
      EXPECT_EQ(message.work().job_id(), kKey.job_id);
      EXPECT_EQ(message.work().generation(), kKey.generation);
      ++count;
    }
    return count;
  };
  state_.OnCommand(Grant(1, 0, 2));
  EXPECT_EQ(NextBatch(), 0);
  state_.GenerationIsOver(kKey);
  EXPECT_EQ(NextBatch(), -1);
  EXPECT_EQ(reports(absl::ZeroDuration()), 0);
  EXPECT_EQ(reports(absl::Milliseconds(1900)), 0) << "mostly the coordinator has just not said it";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(reports(absl::Seconds(2)), 1);
  state_.OnCommand(StartJob(2));
  EXPECT_EQ(state_.NextItem()->kind, WorkItem::Kind::kStartJob);
  EXPECT_EQ(reports(absl::Seconds(5)), 0);
}

TEST_F(WorkStateTest, ABatchIsReportedWhenItIsAppliedAndNotBefore) {
  state_.OnCommand(Grant(1, 0, 2));
  EXPECT_EQ(NextBatch(), 0);
  for (const auto& message : Messages()) EXPECT_EQ(message.work().batches_size(), 0);
  state_.Applied(kKey, Record(0));
  const auto messages = Messages();
  ASSERT_EQ(messages.size(), 1u);
  ASSERT_EQ(messages[0].work().batches_size(), 1);
  EXPECT_EQ(messages[0].work().generation(), 1u);
  EXPECT_EQ(messages[0].work().queued(), 1);
}

TEST_F(WorkStateTest, ANewGenerationVoidsLeasesAndLateAcknowledgements) {
  state_.OnCommand(Grant(1, 0, 5));
  EXPECT_EQ(NextBatch(), 0);
  state_.OnCommand(StartJob(2));
  EXPECT_FALSE(state_.ShouldKeepWaiting(kKey, 0));
  state_.Applied(kKey, Record(0));
  EXPECT_EQ(state_.NextItem()->kind, WorkItem::Kind::kStartJob);
  state_.Applied(kKey, Record(0));
  state_.Ready({3, 2});
  EXPECT_FALSE(state_.NextItem().has_value());
  const auto messages = Messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].work().generation(), 2u);
  EXPECT_EQ(messages[0].work().batches_size(), 0);
  state_.OnCommand(Grant(1, 5, 5));
  EXPECT_FALSE(state_.NextItem().has_value());
}

TEST_F(WorkStateTest, TheSameJobAndGenerationAgainChangesNothing) {
  state_.OnCommand(Grant(1, 0, 2));
  state_.OnCommand(StartJob(1));
  EXPECT_EQ(NextBatch(), 0);
}

TEST_F(WorkStateTest, PauseReturnsBatchesThatHaveNotStartedAndWaitsForTheOthers) {
  state_.OnCommand(Grant(1, 0, 10));
  EXPECT_EQ(NextBatch(), 0);
  state_.OnCommand(PauseCommand());
  EXPECT_FALSE(state_.NextItem().has_value());
  for (const auto& message : Messages()) EXPECT_FALSE(message.has_paused());
  state_.Applied(kKey, Record(0));
  const auto messages = Messages();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].work().batches_size(), 1);
  EXPECT_EQ(messages[1].paused().pause_id(), 5u);
  ASSERT_EQ(messages[1].paused().returned_size(), 1);
  EXPECT_EQ(messages[1].paused().returned(0).first(), 1);
  EXPECT_EQ(messages[1].paused().returned(0).count(), 9);
}

TEST_F(WorkStateTest, GrantsAfterAHoldAreGoodAndDoNotDelayItsAnswer) {
  state_.OnCommand(Grant(1, 0, 1));
  EXPECT_EQ(NextBatch(), 0);
  state_.OnCommand(PauseCommand());
  state_.OnCommand(Grant(1, 20, 1));
  EXPECT_EQ(NextBatch(), 20);
  state_.Applied(kKey, Record(0));
  EXPECT_TRUE(Messages().back().has_paused());
}

TEST_F(WorkStateTest, ABatchThatWaitsGivesWayToASmallerOne) {
  state_.OnCommand(Grant(1, 8, 1));
  EXPECT_EQ(NextBatch(), 8);
  EXPECT_TRUE(state_.ShouldKeepWaiting(kKey, 8));
  EXPECT_EQ(Messages()[0].work().blocked_on(), 8);
  state_.OnCommand(Grant(1, 4, 1));
  EXPECT_FALSE(state_.ShouldKeepWaiting(kKey, 8));
  state_.StepEnded();
  state_.ReturnBatch(kKey, 8);
  EXPECT_EQ(NextBatch(), 4);
  EXPECT_EQ(NextBatch(), 8);
}

TEST_F(WorkStateTest, ANewStreamKeepsLeasesOnlyIfTheWelcomeAllowsIt) {
  state_.OnCommand(Grant(1, 0, 3));
  EXPECT_EQ(NextBatch(), 0);
  proto::Join join;
  state_.FillJoin(&join);
  EXPECT_EQ(join.job_id(), 3u);
  EXPECT_EQ(join.generation(), 1u);
  EXPECT_EQ(join.leases_size(), 2);
  state_.OnDisconnected();
  state_.OnWelcome(true, now_);
  EXPECT_EQ(NextBatch(), 1);
  state_.OnDisconnected();
  state_.OnWelcome(false, now_);
  EXPECT_EQ(NextBatch(), -1);
  EXPECT_FALSE(state_.ShouldKeepWaiting(kKey, 1));
}

TEST_F(WorkStateTest, TheSameJobIdInAnotherClusterIsAnotherJob) {
  state_.OnCommand(Grant(1, 0, 3));
  state_.LeaveCluster();
  proto::Join join;
  state_.FillJoin(&join);
  EXPECT_EQ(join.job_id(), 0u);
  EXPECT_EQ(join.leases_size(), 0);
  state_.OnWelcome(/*keep_leases=*/false, now_);
  state_.OnCommand(StartJob(1));
  const std::optional<WorkItem> task = state_.NextItem();
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->kind, WorkItem::Kind::kStartJob);
}

TEST_F(WorkStateTest, TrainingAndEvaluationTakeTurns) {
  proto::Command command = Grant(1, 0, 2);
  command.mutable_grant()->set_cut(9);
  proto::Split* split = command.mutable_grant()->add_evaluate();
  split->set_first(10);
  split->set_stride(1);
  split->set_count(2);
  state_.OnCommand(command);
  std::vector<std::pair<WorkItem::Kind, int64_t>> tasks;
  while (const auto task = state_.NextItem()) tasks.push_back({task->kind, task->batch});
  EXPECT_EQ(tasks, (std::vector<std::pair<WorkItem::Kind, int64_t>>{{WorkItem::Kind::kEvaluate, 10},
                                                                    {WorkItem::Kind::kTrain, 0},
                                                                    {WorkItem::Kind::kEvaluate, 11},
                                                                    {WorkItem::Kind::kTrain, 1}}));
}

TEST_F(WorkStateTest, AFailureIsReportedOnEveryStreamUntilTheJobIsStopped) {
  state_.OnCommand(Grant(1, 0, 2));
  state_.Failed(kKey, "no such file", /*transient=*/false);
  EXPECT_FALSE(state_.NextItem().has_value());
  auto messages = Messages();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].failure().error(), "no such file");
  EXPECT_TRUE(Messages().empty());
  state_.OnWelcome(false, now_);
  EXPECT_EQ(Messages().size(), 1u);
  proto::Command stop;
  stop.mutable_stop_job()->set_job_id(3);
  state_.OnCommand(stop);
  EXPECT_EQ(state_.NextItem()->kind, WorkItem::Kind::kDropJob);
  state_.OnWelcome(false, now_);
  EXPECT_TRUE(Messages().empty());
}

TEST_F(WorkStateTest, AGenerationThatThePsGaveUpWaitsForStartJob) {
  state_.OnCommand(Grant(1, 0, 2));
  EXPECT_EQ(NextBatch(), 0);
  state_.GenerationIsOver(kKey);
  EXPECT_EQ(NextBatch(), -1);
  EXPECT_TRUE(Messages().empty());
  state_.OnCommand(StartJob(1));
  EXPECT_EQ(state_.NextItem()->kind, WorkItem::Kind::kStartJob);
}

TEST_F(WorkStateTest, GrantsBeyondTheJobAreNotTaken) {
  state_.OnCommand(Grant(1, 1000, 1));
  state_.OnCommand(Grant(1, 0, int64_t{1} << 60));
  EXPECT_EQ(NextBatch(), -1);
}

TEST(WorkStateProfileTest, AProfileIsATaskAndItsReportAnAnswer) {
  WorkState state;
  state.OnWelcome(false, absl::ZeroDuration());
  proto::Command command;
  command.mutable_profile()->set_profile(3);
  command.mutable_profile()->set_steps(10);
  state.OnCommand(command);
  const auto task = state.NextItem();
  ASSERT_TRUE(task.has_value());
  EXPECT_EQ(task->kind, WorkItem::Kind::kProfile);
  EXPECT_EQ(task->profile->steps(), 10);
  EXPECT_FALSE(state.NextItem().has_value());
  proto::ProfileReport report;
  report.set_profile(3);
  state.Profiled(report);
  const auto messages = state.TakeMessages(absl::ZeroDuration());
  ASSERT_EQ(messages.size(), 1);
  EXPECT_EQ(messages[0].profiled().profile(), 3);
  // Requests of the old stream are not answered on the next one.
  state.OnCommand(command);
  state.OnDisconnected();
  EXPECT_FALSE(state.NextItem().has_value());
}

proto::Command StartInference(uint64_t inference) {
  proto::Command command;
  command.mutable_start_inference()->set_inference(inference);
  return command;
}

proto::Command GrantInference(uint64_t inference, int64_t first, int64_t count) {
  proto::Command command;
  command.mutable_grant_inference()->set_inference(inference);
  proto::Split* split = command.mutable_grant_inference()->add_batches();
  split->set_first(first);
  split->set_stride(1);
  split->set_count(count);
  return command;
}

TEST_F(WorkStateTest, ATrainingItemSaysWhatFollowsSoonAndLater) {
  state_.OnCommand(Grant(1, 0, 100));
  const auto first = state_.NextItem();
  EXPECT_EQ(first->batch, 0);
  EXPECT_EQ(first->next,
            std::vector<int64_t>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}));
  EXPECT_EQ(first->later, 65);
  for (int64_t batch = 1; batch < 98; ++batch) EXPECT_EQ(NextBatch(), batch);
  EXPECT_EQ(state_.NextItem()->later, 99) << "the last one";
  EXPECT_EQ(state_.NextItem()->later, std::nullopt);
}

TEST_F(WorkStateTest, UpcomingBatchesAreThoseOfTheNextTrainingItems) {
  state_.OnCommand(Grant(1, 0, 3));
  EXPECT_EQ(NextBatch(), 0);
  EXPECT_EQ(state_.UpcomingBatches(), std::vector<int64_t>({1, 2}));
  state_.OnCommand(Grant(1, 10, 100));
  EXPECT_EQ(state_.UpcomingBatches().size(), 16u);
  state_.GenerationIsOver(kKey);
  EXPECT_TRUE(state_.UpcomingBatches().empty());
}

TEST_F(WorkStateTest, AnInferenceAndTheJobAlternate) {
  state_.OnCommand(StartInference(8));
  state_.OnCommand(GrantInference(8, 0, 3));
  state_.OnCommand(GrantInference(7, 50, 3));  // Of an older one.
  state_.OnCommand(Grant(1, 0, 10));
  const auto start = state_.NextItem();
  EXPECT_EQ(start->kind, WorkItem::Kind::kStartInference);
  EXPECT_EQ(start->inference->inference(), 8u);
  const auto first = state_.NextItem();
  EXPECT_EQ(first->kind, WorkItem::Kind::kInfer);
  EXPECT_EQ(first->batch, 0);
  EXPECT_EQ(first->next, std::vector<int64_t>({1, 2}));
  EXPECT_EQ(NextBatch(), 0);
  EXPECT_EQ(state_.NextItem()->kind, WorkItem::Kind::kInfer);
  EXPECT_EQ(NextBatch(), 1);
  EXPECT_EQ(state_.NextItem()->batch, 2);
  EXPECT_EQ(NextBatch(), 2);
  EXPECT_EQ(NextBatch(), 3);
}

TEST_F(WorkStateTest, BatchesOfAnInferenceThatAreGrantedAgainAreComputedOnce) {
  state_.OnCommand(StartInference(8));
  state_.OnCommand(GrantInference(8, 0, 2));
  state_.NextItem();
  EXPECT_EQ(state_.NextItem()->batch, 0);
  // The worker computes batch 0 and has batch 1 in its queue.
  state_.OnCommand(GrantInference(8, 0, 3));
  EXPECT_EQ(state_.NextItem()->batch, 1);
  EXPECT_EQ(state_.NextItem()->batch, 2);
  EXPECT_FALSE(state_.NextItem().has_value());
  proto::InferenceReport report;
  report.set_inference(8);
  report.mutable_batch()->set_batch(2);
  state_.Inferred(report);
  state_.OnCommand(GrantInference(8, 2, 1));
  EXPECT_EQ(state_.NextItem()->batch, 2) << "its report may be lost";
}

TEST_F(WorkStateTest, ReportsOfAnInferenceAreSentWhileItIsTheCurrentOne) {
  state_.OnCommand(StartInference(8));
  state_.NextItem();
  proto::InferenceReport report;
  report.set_inference(8);
  report.mutable_ready()->set_examples(5);
  state_.Inferred(report);
  const auto messages = Messages();
  ASSERT_FALSE(messages.empty());
  EXPECT_EQ(messages.back().inferred().ready().examples(), 5);
  proto::Command end;
  end.mutable_end_inference()->set_inference(7);
  state_.OnCommand(end);
  EXPECT_FALSE(state_.NextItem().has_value()) << "another one has ended";
  end.mutable_end_inference()->set_inference(8);
  state_.OnCommand(end);
  EXPECT_EQ(state_.NextItem()->kind, WorkItem::Kind::kDropInference);
  state_.Inferred(report);
  for (const auto& message : Messages()) EXPECT_FALSE(message.has_inferred());
}

TEST_F(WorkStateTest, AnInferenceEndsWithTheStreamAndWithItsFailure) {
  state_.OnCommand(StartInference(8));
  state_.OnCommand(GrantInference(8, 0, 3));
  state_.OnDisconnected();
  EXPECT_EQ(state_.NextItem()->kind, WorkItem::Kind::kDropInference);
  EXPECT_FALSE(state_.NextItem().has_value());
  state_.OnCommand(StartInference(9));
  state_.OnCommand(GrantInference(9, 0, int64_t{1} << 60));
  state_.NextItem();
  proto::InferenceReport report;
  report.set_inference(9);
  report.set_error("no such file");
  state_.Inferred(report);
  EXPECT_FALSE(state_.NextItem().has_value());
}

}  // namespace
}  // namespace cairn::worker

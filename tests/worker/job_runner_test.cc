#include "worker/job_runner.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"

namespace cairn::worker {
namespace {

bool Never() { return false; }

proto::StartJob StartOf(const proto::JobPlan& plan, uint64_t generation = 1) {
  proto::StartJob job;
  *job.mutable_plan() = plan;
  job.set_generation(generation);
  return job;
}

class JobRunnerTest : public ::testing::Test {
 protected:
  std::unique_ptr<JobRunner> Start(const proto::JobPlan& plan, bool trains) {
    auto runner =
        JobRunner::Create(StartOf(plan), {.trains = trains, .activity = &activity_}, device_.get());
    EXPECT_TRUE(runner.ok()) << runner.status();
    return *std::move(runner);
  }

  RealClock clock_;
  Activity activity_{&clock_};
  std::unique_ptr<nn::Device> device_ = *nn::CreateDevice("cpu");
};

TEST_F(JobRunnerTest, ANewGenerationBeginsFromTheValuesOfThePs) {
  const proto::JobPlan plan = CountingPlan({});
  TestCluster cluster(plan);
  const auto runner = Start(plan, true);
  std::atomic<int> applied = 0;
  const auto on_applied = [&applied](const proto::BatchRecord&) { ++applied; };
  for (uint64_t generation : {1, 2, 3}) {
    for (const auto& ps : cluster.ps) ps->Restore(plan, generation);
    ASSERT_TRUE(
        runner->StartGeneration(StartOf(plan, generation), cluster.info(), on_applied).ok());
    for (int64_t batch : {0, 1, 2, 3}) {
      ASSERT_TRUE(runner->Train({.batch = batch, .next = {batch + 1}}, Never).ok());
    }
  }
  // The fourth batch of the last generation may still be in flight.
  runner->EndGeneration();
  for (float value : cluster.ps[0]->Values()) EXPECT_LE(value, -2);
  EXPECT_GE(applied, 2);
}

TEST_F(JobRunnerTest, AProfileHasEveryPhaseAndLayerOfItsStepsAndEndsByItself) {
  const proto::JobPlan plan = CountingPlan({});
  TestCluster cluster(plan);
  const auto runner = Start(plan, true);
  ASSERT_TRUE(runner->StartGeneration(StartOf(plan), cluster.info(), [](const auto&) {}).ok());
  ASSERT_TRUE(runner->Train({.batch = 0, .next = {1}}, Never).ok());
  EXPECT_FALSE(runner->TakeProfile(/*now=*/true).has_value());
  proto::Profile command;
  command.set_profile(5);
  command.set_steps(2);
  runner->StartProfile(command);
  for (const int64_t batch : {1, 2}) {
    EXPECT_FALSE(runner->TakeProfile(/*now=*/false).has_value());
    ASSERT_TRUE(runner->Train({.batch = batch, .next = {batch + 1}}, Never).ok());
  }
  const auto report = runner->TakeProfile(/*now=*/false);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->steps(), 2);
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const proto::ProfileSpan& span : report->spans()) {
    const proto::ProfileName& name = report->names(static_cast<int>(span.name()));
    ++counts[{name.kind(), name.name()}];
    EXPECT_TRUE(span.batch() == 1 || span.batch() == 2);
  }
  for (const char* phase : {"data", "wait", "pull", "forward", "backward", "push"}) {
    EXPECT_EQ((counts[{"phase", phase}]), 2) << phase;
  }
  EXPECT_EQ((counts[{"forward", "loss"}]), 2);
  // The first batch of the profile may have been loaded before it began.
  EXPECT_GE(report->loaded_batches(), 1);
  EXPECT_GT(report->decoding_nanoseconds(), 0);
  // The profile has ended.
  EXPECT_FALSE(runner->TakeProfile(/*now=*/true).has_value());
}

TEST_F(JobRunnerTest, OtherDataThanThePlansAreRefused) {
  proto::JobPlan plan = CountingPlan({});
  plan.set_examples(plan.examples() + 1);
  const auto runner = JobRunner::Create(StartOf(plan), {}, device_.get());
  EXPECT_EQ(runner.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(runner.status().ToString(),
              ::testing::HasSubstr("hold 80 examples on this host, 81 when"));
}

TEST_F(JobRunnerTest, AnEvaluatorReadsNoTrainingDataAndDoesNotTrain) {
  proto::JobPlan plan = CountingPlan({.validation = true});
  TestCluster cluster(plan);
  plan.mutable_job()->mutable_train()->mutable_npy()->set_labels(0, "/gone.npy");
  const auto runner = Start(plan, false);
  ASSERT_TRUE(runner->StartGeneration(StartOf(plan), cluster.info(), nullptr).ok());
  EXPECT_FALSE(runner->Train({.batch = 0, .next = {1}}, Never).ok());
  for (const auto& ps : cluster.ps) ASSERT_TRUE(ps->store().MakeCut(7, 1, 1).ok());
  EXPECT_TRUE(runner->Evaluate(1, 0, {}, Never).ok());
}

TEST_F(JobRunnerTest, WithoutValidationDataThereIsNoEvaluation) {
  const proto::JobPlan plan = CountingPlan({});
  TestCluster cluster(plan);
  const auto runner = Start(plan, true);
  ASSERT_TRUE(runner->StartGeneration(StartOf(plan), cluster.info(), nullptr).ok());
  EXPECT_EQ(runner->Evaluate(1, 0, {}, Never).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace cairn::worker

#include "worker/evaluator.h"

#include <memory>

#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"
#include "worker/job_data.h"
#include "worker/strategy/create_strategy.h"

namespace cairn::worker {
namespace {

bool Never() { return false; }

// Evaluation of the counting job on real parameter servers.
class EvaluatorTest : public ::testing::Test {
 protected:
  EvaluatorTest() : plan_(CountingPlan({.validation = true})), cluster_(plan_) {
    plan_.mutable_job()->add_metrics("mean_squared_error");
    device_ = *nn::CreateDevice("cpu");
    model_ = *JobModel::Create(plan_.job(), plan_.model());
    proto::StartJob job;
    *job.mutable_plan() = plan_;
    job.set_generation(1);
    auto strategy = CreateStrategy(job, *model_.model, cluster_.info(), {});
    EXPECT_TRUE(strategy.ok()) << strategy.status();
    strategy_ = *std::move(strategy);
    auto evaluator = Evaluator::Create(plan_, model_, *LoadJobData(plan_, model_, {}, false, true),
                                       1, device_.get(), strategy_.get(), &activity_);
    EXPECT_TRUE(evaluator.ok()) << evaluator.status();
    evaluator_ = *std::move(evaluator);
  }

  void MakeCut(uint64_t cut) {
    for (const auto& ps : cluster_.ps) ASSERT_TRUE(ps->store().MakeCut(7, 1, cut).ok());
  }

  proto::JobPlan plan_;
  TestCluster cluster_;
  std::unique_ptr<nn::Device> device_;
  JobModel model_;
  RealClock clock_;
  Activity activity_{&clock_};
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_F(EvaluatorTest, SumsLossAndMetricsOverTheBatch) {
  MakeCut(1);
  const auto result = evaluator_->Evaluate(1, 19, {}, Never);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->cut(), 1u);
  EXPECT_EQ(result->batch(), 19);
  EXPECT_EQ(result->examples(), 4);
  EXPECT_NEAR(result->loss_sum() / 4e30, 1, 1e-6);
  ASSERT_EQ(result->metric_states_size(), 1);
  EXPECT_EQ(result->metric_states(0).values(1), 4);
}

TEST_F(EvaluatorTest, ACutThatIsGoneIsAnErrorAndTheNextOneIsPulled) {
  MakeCut(1);
  ASSERT_TRUE(evaluator_->Evaluate(1, 0, {1}, Never).ok());
  for (const auto& ps : cluster_.ps) ps->store().DropCut(7, 1);
  // The cut's values have been pulled already.
  EXPECT_TRUE(evaluator_->Evaluate(1, 1, {}, Never).ok());
  const auto gone = evaluator_->Evaluate(2, 0, {}, Never);
  EXPECT_EQ(gone.status().code(), absl::StatusCode::kNotFound);
  MakeCut(3);
  EXPECT_TRUE(evaluator_->Evaluate(3, 0, {}, Never).ok());
}

TEST_F(EvaluatorTest, GivesUpWhenToldTo) {
  cluster_.ps.clear();
  const auto result = evaluator_->Evaluate(1, 0, {}, [] { return true; });
  EXPECT_EQ(result.status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace cairn::worker

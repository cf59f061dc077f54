#include "worker/strategy/create_strategy.h"

#include <memory>
#include <utility>

#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"
#include "worker/job_model.h"

namespace cairn::worker {
namespace {

class CreateStrategyTest : public ::testing::Test {
 protected:
  CreateStrategyTest() {
    *job_.mutable_plan() = CountingPlan({});
    job_.set_generation(1);
    model_ = *JobModel::Create(job_.plan().job(), job_.plan().model());
  }

  proto::StartJob job_;
  JobModel model_;
};

TEST_F(CreateStrategyTest, ATaskWithoutTrainingLoadsCuts) {
  TestCluster cluster(job_.plan());
  const auto strategy = CreateStrategy(job_, *model_.model, cluster.info(), {});
  ASSERT_TRUE(strategy.ok()) << strategy.status();
  for (const auto& ps : cluster.ps) ASSERT_TRUE(ps->store().MakeCut(7, 1, 5).ok());
  const auto device = *nn::CreateDevice("cpu");
  const auto executor = *nn::Executor::Create(
      model_.model.get(), &model_.objective,
      {.batch_size = job_.plan().batch_size(), .training = false}, device.get());
  executor->values(0)[0] = 9;
  const auto never = [] { return false; };
  EXPECT_EQ((*strategy)->LoadCut(4, executor.get(), never).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE((*strategy)->LoadCut(5, executor.get(), never).ok());
  for (const float value : executor->values(0)) EXPECT_EQ(value, 0);
}

TEST_F(CreateStrategyTest, APlanForMorePsThanTheClusterHasIsRefused) {
  ClusterInfo cluster;
  EXPECT_EQ(CreateStrategy(job_, *model_.model, cluster, {}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cairn::worker

#include "tests/worker/strategy/local_strategy.h"

#include <google/protobuf/util/json_util.h>

#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "nn/initializer.h"
#include "nn/loss.h"
#include "proto/job.pb.h"
#include "tests/parameters/test_job.h"

namespace cairn::worker {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) ADD_FAILURE() << value.status();
  return *std::move(value);
}

constexpr uint64_t kSeed = 11;

// A Dense layer, a BatchNormalization layer with momentum 0.5, and a frozen Dense layer.
class LocalStrategyTest : public ::testing::Test {
 protected:
  LocalStrategyTest() {
    model_ = OrDie(nn::Model::Create(parameters::MakePlan({}).model()));
    device_ = OrDie(nn::CreateDevice("cpu"));
    proto::Loss loss;
    loss.set_name("mean_squared_error");
    objective_ = nn::Objective(OrDie(nn::CreateLoss(loss)));
    executor_ =
        OrDie(nn::Executor::Create(model_.get(), &objective_, {.batch_size = 2}, device_.get()));
    proto::Optimizer sgd;
    sgd.set_name("sgd");
    sgd.set_learning_rate(0.25);
    strategy_ = OrDie(LocalStrategy::Create(
        model_.get(), executor_.get(), OrDie(nn::CreateOptimizer(sgd)), kSeed,
        [this](const proto::BatchRecord& record) { applied_.push_back(record.batch()); }));
  }

  int Find(const std::string& name) const {
    for (size_t i = 0; i < model_->variables().size(); ++i) {
      if (model_->variables()[i].name == name) return static_cast<int>(i);
    }
    ADD_FAILURE() << name;
    return 0;
  }

  std::vector<float> ValuesOf(const std::string& name) {
    const auto values = executor_->values(Find(name));
    return {values.begin(), values.end()};
  }

  void Step(int64_t batch) {
    const std::vector<float> x = {1, 2, 3, 4, -1, 0, 1, 5};
    const std::vector<float> y = {1, 0, 2, 3, 1, 1};
    nn::Executor::Batch data{.size = 2, .inputs = {x.data()}, .labels = {y.data()}};
    EXPECT_EQ(OrDie(strategy_->BeginStep({batch, 2}, [] { return false; })),
              Strategy::StepStatus::kOk);
    OrDie(executor_->Forward(data, true));
    EXPECT_TRUE(executor_->Backward([&](int variable) { strategy_->OnGradient(variable); }).ok());
    proto::BatchRecord record;
    record.set_batch(batch);
    EXPECT_TRUE(strategy_->EndStep(record).ok());
  }

  std::unique_ptr<nn::Model> model_;
  std::unique_ptr<nn::Device> device_;
  nn::Objective objective_;
  std::unique_ptr<nn::Executor> executor_;
  std::unique_ptr<LocalStrategy> strategy_;
  std::vector<int64_t> applied_;
};

TEST_F(LocalStrategyTest, BeginsWithTheInitialValuesOfTheSeed) {
  for (size_t i = 0; i < model_->variables().size(); ++i) {
    const nn::VariableSpec& variable = model_->variables()[i];
    std::vector<float> expected(variable.element_count());
    nn::FillInitialValues(variable, kSeed, 0, variable.element_count(), expected.data());
    EXPECT_EQ(ValuesOf(variable.name), expected);
  }
}

TEST_F(LocalStrategyTest, EachKindOfVariableFollowsItsOwnRule) {
  const auto kernel = ValuesOf("hidden/kernel");
  const auto frozen = ValuesOf("frozen/kernel");
  Step(0);
  const auto gradient = executor_->gradient(Find("hidden/kernel"));
  const auto after = ValuesOf("hidden/kernel");
  for (size_t i = 0; i < kernel.size(); ++i) {
    EXPECT_FLOAT_EQ(after[i], kernel[i] - 0.25f * gradient[i]);
  }
  const auto mean = executor_->gradient(Find("norm/moving_mean"));
  const auto moved = ValuesOf("norm/moving_mean");
  for (size_t i = 0; i < moved.size(); ++i) EXPECT_FLOAT_EQ(moved[i], 0.5f * mean[i]);
  EXPECT_EQ(ValuesOf("frozen/kernel"), frozen);
}

TEST_F(LocalStrategyTest, EvaluationGetsTheValuesOfTraining) {
  const auto evaluation =
      OrDie(nn::Executor::Create(model_.get(), &objective_, {.batch_size = 2}, device_.get()));
  Step(0);
  EXPECT_TRUE(strategy_->LoadCut(1, evaluation.get(), [] { return false; }).ok());
  for (size_t i = 0; i < model_->variables().size(); ++i) {
    const auto values = evaluation->values(static_cast<int>(i));
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
              ValuesOf(model_->variables()[i].name));
  }
}

TEST_F(LocalStrategyTest, EveryStepIsAppliedWhenItEnds) {
  for (int64_t batch : {4, 2, 7}) Step(batch);
  EXPECT_EQ(applied_, (std::vector<int64_t>{4, 2, 7}));
}

}  // namespace
}  // namespace cairn::worker

#include "worker/strategy/parameter_server_strategy.h"

#include <atomic>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "common/mutex.h"
#include "gtest/gtest.h"
#include "nn/create_device.h"
#include "tests/worker/counting_plan.h"
#include "tests/worker/test_ps.h"
#include "worker/job_data.h"
#include "worker/job_model.h"
#include "worker/trainer.h"

namespace cairn::worker {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) ADD_FAILURE() << value.status();
  return *std::move(value);
}

// Records the first value at the start of each step: the replies of the ps may replace it before
// the step ends.
class WatchedStrategy final : public Strategy {
 public:
  WatchedStrategy(Strategy* strategy, nn::Executor* executor)
      : strategy_(strategy), executor_(executor) {}

  absl::StatusOr<StepStatus> BeginStep(const Step& step,
                                       absl::FunctionRef<bool()> should_abandon) override {
    const auto ready = strategy_->BeginStep(step, should_abandon);
    value_ = executor_->values(0)[0];
    return ready;
  }
  void OnGradient(int variable) override { strategy_->OnGradient(variable); }
  absl::Status EndStep(const proto::BatchRecord& record) override {
    return strategy_->EndStep(record);
  }
  absl::Status LoadCut(uint64_t cut, nn::Executor* executor,
                       absl::FunctionRef<bool()> should_abandon) override {
    return strategy_->LoadCut(cut, executor, should_abandon);
  }
  void Wake() override { strategy_->Wake(); }

  float value() const { return value_; }

 private:
  Strategy* const strategy_;
  nn::Executor* const executor_;
  float value_ = 0;
};

// The executor, loader and trainer of one worker, with the strategy for the test's ps.
class TestWorker {
 public:
  TestWorker(const proto::JobPlan& plan, std::shared_ptr<cluster::PsClient> client,
             uint64_t generation = 1)
      : device_(OrDie(nn::CreateDevice("cpu"))),
        model_(OrDie(JobModel::Create(plan.job(), plan.model()))),
        loader_(OrDie(LoadJobData(plan, model_, {}, true, false)).train,
                BatchSampler::ForTraining(plan)) {
    nn::Executor::Options options;
    options.batch_size = plan.batch_size();
    executor_ =
        OrDie(nn::Executor::Create(model_.model.get(), &model_.objective, options, device_.get()));
    strategy_ = OrDie(ParameterServerStrategy::Create(
        plan, generation, *model_.model, executor_.get(), std::move(client), int64_t{1} << 30,
        [this](const proto::BatchRecord& record) {
          MutexLock lock(&mutex_);
          ++applied_[record.batch()];
          changed_.NotifyAll();
        }));
    watched_ = std::make_unique<WatchedStrategy>(strategy_.get(), executor_.get());
    trainer_ = std::make_unique<Trainer>(executor_.get(), &loader_, watched_.get(), &activity_, 0);
  }

  absl::StatusOr<Strategy::StepStatus> Step(
      int64_t batch, absl::FunctionRef<bool()> should_abandon = [] { return false; }) {
    return trainer_->Step({.batch = batch}, should_abandon);
  }

  void WaitForApplied(size_t count) {
    MutexLock lock(&mutex_);
    for (int i = 0; i < 2000 && applied_.size() < count; ++i) {
      changed_.WaitFor(&mutex_, std::chrono::milliseconds(10));
    }
    EXPECT_EQ(applied_.size(), count);
    for (const auto& [batch, times] : applied_) EXPECT_EQ(times, 1) << "batch " << batch;
  }

  size_t applied_count() {
    MutexLock lock(&mutex_);
    return applied_.size();
  }
  // The value that the last step computed on.
  float value() { return watched_->value(); }
  Strategy& strategy() { return *strategy_; }
  absl::Span<float> values(int variable) { return executor_->values(variable); }

 private:
  std::unique_ptr<nn::Device> device_;
  JobModel model_;
  BatchLoader loader_;
  std::unique_ptr<nn::Executor> executor_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::map<int64_t, int> applied_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Strategy> strategy_;
  std::unique_ptr<WatchedStrategy> watched_;
  RealClock clock_;
  Activity activity_{&clock_};
  std::unique_ptr<Trainer> trainer_;
};

void ExpectAllValues(TestCluster* cluster, float value) {
  for (const auto& ps : cluster->ps) {
    for (float one : ps->Values()) EXPECT_EQ(one, value);
  }
}

// Worker i is in the process of ps i. Each pull is a request for the blocks of one ps; early ones
// are both for the worker's own.
TEST(ParameterServerStrategyTest, AWorkerPullsFromTheReplicasOfItsProcess) {
  constexpr int64_t kUpdates = 10;
  proto::JobPlan plan = CountingPlan({.synchronous = true, .batches_per_update = 2});
  plan.mutable_job()->mutable_strategy()->mutable_multi_worker_mirrored();
  TestCluster cluster(plan);
  std::vector<std::unique_ptr<TestWorker>> workers;
  for (int i = 0; i < 2; ++i) {
    cluster::PsClientOptions options;
    options.addresses = cluster.addresses();
    options.cluster_id = kTestClusterId;
    options.own = {i, cluster.ps[i]->server()};
    workers.push_back(
        std::make_unique<TestWorker>(plan, std::make_shared<cluster::PsClient>(options)));
  }
  const auto step = [&](int worker, int64_t batch) {
    EXPECT_EQ(OrDie(workers[worker]->Step(batch)), Strategy::StepStatus::kOk);
    EXPECT_EQ(workers[worker]->value(), -static_cast<float>(batch / 2));
  };
  for (int64_t batch = 0; batch < 2 * kUpdates; ++batch) step(static_cast<int>(batch % 2), batch);
  for (const auto& ps : cluster.ps) {
    // No push of the workers can acknowledge the first values.
    EXPECT_EQ(ps->store().counters().pulls, 2 + 2 * (kUpdates - 1));
  }
  // Nor those of an update that the second one has no batch of.
  step(0, 2 * kUpdates);
  step(0, 2 * kUpdates + 1);
  step(0, 2 * kUpdates + 2);
  step(1, 2 * kUpdates + 3);
  workers[0]->WaitForApplied(kUpdates + 3);
  workers[1]->WaitForApplied(kUpdates + 1);
  ExpectAllValues(&cluster, -static_cast<float>(kUpdates + 2));
  EXPECT_EQ(cluster.ps[0]->store().counters().pulls, 2 * kUpdates + 2 + 2 + 1);
  EXPECT_EQ(cluster.ps[1]->store().counters().pulls, 2 * kUpdates + 1);
}

TEST(ParameterServerStrategyTest, AsynchronousBatchesOfTwoWorkersCountExactlyOnce) {
  const proto::JobPlan plan = CountingPlan({});
  TestCluster cluster(plan);
  TestWorker one(plan, cluster.client);
  cluster::PsClientOptions options;
  options.addresses = cluster.addresses();
  options.cluster_id = kTestClusterId;
  TestWorker other(plan, std::make_shared<cluster::PsClient>(options));
  std::thread thread([&] {
    for (int64_t batch = 0; batch < 100; batch += 2) EXPECT_TRUE(other.Step(batch).ok());
  });
  for (int64_t batch = 1; batch < 100; batch += 2) EXPECT_TRUE(one.Step(batch).ok());
  thread.join();
  one.WaitForApplied(50);
  other.WaitForApplied(50);
  ExpectAllValues(&cluster, -100);
}

TEST(ParameterServerStrategyTest, WhatIsFrozenIsPulledOnceAndNeverPushed) {
  CountingOptions options;
  options.frozen_layer = true;
  options.window = 3;  // Every step pulls.
  const proto::JobPlan plan = CountingPlan(options);
  TestCluster cluster(plan);
  TestWorker worker(plan, cluster.client);
  ASSERT_TRUE(worker.Step(0).ok());
  EXPECT_EQ(worker.values(1)[0], 1);
  // A second pull would restore 1. Half the output gives half the gradient.
  worker.values(1)[0] = 0.5f;
  for (int64_t batch = 1; batch < 5; ++batch) ASSERT_TRUE(worker.Step(batch).ok());
  EXPECT_EQ(worker.values(1)[0], 0.5f);
  worker.WaitForApplied(5);
  // The ps reject pushes to a frozen block, so its value has not changed.
  std::multiset<float> values;
  for (const auto& ps : cluster.ps) {
    for (float value : ps->Values()) values.insert(value);
  }
  EXPECT_EQ(values.count(1), 1u);
  EXPECT_EQ(values.count(-3), static_cast<size_t>(options.rows));
}

TEST(ParameterServerStrategyTest, ABatchThatIsRepeatedCountsOnce) {
  const proto::JobPlan plan = CountingPlan({});
  TestCluster cluster(plan);
  TestWorker one(plan, cluster.client);
  for (int64_t batch : {0, 1, 2}) EXPECT_TRUE(one.Step(batch).ok());
  one.WaitForApplied(3);
  cluster::PsClientOptions options;
  options.addresses = cluster.addresses();
  options.cluster_id = kTestClusterId;
  TestWorker other(plan, std::make_shared<cluster::PsClient>(options));
  for (int64_t batch : {1, 2, 3}) EXPECT_TRUE(other.Step(batch).ok());
  other.WaitForApplied(3);
  ExpectAllValues(&cluster, -4);
}

TEST(ParameterServerStrategyTest, AWorkerAloneComputesOnValuesThatHaveAllItsWork) {
  const proto::JobPlan plan = CountingPlan({});
  TestCluster cluster(plan);
  TestWorker worker(plan, cluster.client);
  for (int64_t batch = 0; batch < 100; ++batch) {
    ASSERT_TRUE(worker.Step(batch).ok());
    EXPECT_EQ(worker.value(), -static_cast<float>(batch));
  }
}

TEST(ParameterServerStrategyTest, SynchronousUpdatesAverageTheirBatches) {
  const proto::JobPlan plan =
      CountingPlan({.batches_per_epoch = 10, .synchronous = true, .batches_per_update = 4});
  TestCluster cluster(plan);
  TestWorker worker(plan, cluster.client);
  // One worker has all batches of an update, so it must not wait for acknowledgements between them.
  for (int64_t batch = 0; batch < 50; ++batch) ASSERT_TRUE(worker.Step(batch).ok());
  worker.WaitForApplied(50);
  ExpectAllValues(&cluster, -15);  // 5 epochs of updates of 4, 4 and 2 batches.
}

// A gradient of 625 ones has norm 25.
TEST(ParameterServerStrategyTest, SynchronousUpdatesAreClippedAsAWholeForAnyNumberOfPs) {
  for (const int ps_count : {1, 2, 3}) {
    const proto::JobPlan plan = CountingPlan({.rows = 625,
                                              .batches_per_epoch = 10,
                                              .synchronous = true,
                                              .batches_per_update = 4,
                                              .ps_count = ps_count,
                                              .clipnorm = 12.5});
    TestCluster cluster(plan);
    TestWorker worker(plan, cluster.client);
    for (int64_t batch = 0; batch < 50; ++batch) ASSERT_TRUE(worker.Step(batch).ok());
    worker.WaitForApplied(50);
    ExpectAllValues(&cluster, -7.5f);  // 5 epochs of updates of 4, 4 and 2 batches.
  }
}

TEST(ParameterServerStrategyTest, AParkedStepIsAbandonedForASmallerBatch) {
  const proto::JobPlan plan =
      CountingPlan({.batches_per_epoch = 10, .synchronous = true, .batches_per_update = 2});
  TestCluster cluster(plan);
  TestWorker worker(plan, cluster.client);
  ASSERT_TRUE(worker.Step(0).ok());
  std::atomic<bool> smaller = false;
  std::thread thread([&] {
    absl::SleepFor(absl::Milliseconds(20));
    smaller = true;
    worker.strategy().Wake();
  });
  EXPECT_EQ(*worker.Step(2, [&] { return smaller.load(); }), Strategy::StepStatus::kAbandoned);
  thread.join();
  EXPECT_EQ(worker.applied_count(), 0u);
  EXPECT_EQ(*worker.Step(1), Strategy::StepStatus::kOk);
  EXPECT_EQ(*worker.Step(2), Strategy::StepStatus::kOk);
  worker.WaitForApplied(2);
  ExpectAllValues(&cluster, -1);
}

TEST(ParameterServerStrategyTest, ABatchOfACompletedUpdateIsAppliedAlready) {
  const proto::JobPlan plan =
      CountingPlan({.batches_per_epoch = 10, .synchronous = true, .batches_per_update = 1});
  TestCluster cluster(plan);
  TestWorker worker(plan, cluster.client);
  for (int64_t batch : {0, 1, 2}) ASSERT_TRUE(worker.Step(batch).ok());
  worker.WaitForApplied(3);
  TestWorker late(plan, cluster.client);
  EXPECT_EQ(*late.Step(0), Strategy::StepStatus::kApplied);
  EXPECT_EQ(*late.Step(3), Strategy::StepStatus::kOk);
  late.WaitForApplied(1);
  ExpectAllValues(&cluster, -4);
}

TEST(ParameterServerStrategyTest, AWindowIsKept) {
  const proto::JobPlan plan = CountingPlan({.window = 2});
  TestCluster cluster(plan);
  TestWorker worker(plan, cluster.client);
  for (int64_t batch : {1, 2}) ASSERT_EQ(*worker.Step(batch), Strategy::StepStatus::kOk);
  int asked = 0;
  EXPECT_EQ(*worker.Step(3, [&] { return ++asked > 1; }), Strategy::StepStatus::kAbandoned);
  EXPECT_EQ(*worker.Step(0), Strategy::StepStatus::kOk);
  EXPECT_EQ(*worker.Step(3), Strategy::StepStatus::kOk);
  worker.WaitForApplied(4);
  ExpectAllValues(&cluster, -4);
}

TEST(ParameterServerStrategyTest, AnotherGenerationEndsTheOldOne) {
  const proto::JobPlan plan = CountingPlan({});
  TestCluster cluster(plan);
  TestWorker worker(plan, cluster.client);
  ASSERT_TRUE(worker.Step(0).ok());
  worker.WaitForApplied(1);
  for (const auto& ps : cluster.ps) ps->Restore(plan, 2);
  absl::Status status;
  for (int64_t batch = 1; batch < 10 && status.ok(); ++batch) status = worker.Step(batch).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_EQ(worker.applied_count(), 1u);
  ExpectAllValues(&cluster, 0);
}

TEST(ParameterServerStrategyTest, APlanForAnotherModelIsRejected) {
  proto::JobPlan plan = CountingPlan({});
  TestCluster cluster(plan);
  const JobModel model = OrDie(JobModel::Create(plan.job(), plan.model()));
  plan.mutable_partition()->mutable_variables(0)->set_name("other/kernel");
  const auto strategy =
      ParameterServerStrategy::Create(plan, 1, *model.model, nullptr, cluster.client, 0, nullptr);
  EXPECT_EQ(strategy.status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace cairn::worker

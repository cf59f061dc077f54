#include "coordinator/callbacks/planned_rates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "storage/rate_changes.h"

namespace cairn::coordinator {
namespace {

// Updates of 2 batches, of which an epoch of 5 has 3.
proto::JobPlan PlanOf(const std::string& job, int64_t epochs) {
  proto::JobPlan plan;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(job, plan.mutable_job()));
  plan.mutable_job()->mutable_optimizer()->set_name("sgd");
  plan.mutable_job()->mutable_optimizer()->set_learning_rate(0.5);
  plan.set_synchronous(true);
  plan.set_batches_per_update(2);
  plan.set_batches_per_epoch(5);
  plan.set_total_batches(5 * epochs);
  return plan;
}

// The rate of the first batch of each epoch.
std::vector<float> RatesByEpoch(const proto::JobPlan& plan) {
  const storage::RateChanges rates(PlannedRates(plan));
  std::vector<float> by_epoch;
  for (int64_t batch = 0; batch < plan.total_batches(); batch += plan.batches_per_epoch()) {
    by_epoch.push_back(*rates.At(batch));
  }
  return by_epoch;
}

TEST(PlannedRatesTest, AJobWhoseRateNobodyChangesHasNone) {
  EXPECT_TRUE(PlannedRates(PlanOf("callbacks { name: 'early_stopping' }", 3)).empty());
}

TEST(PlannedRatesTest, DecisionsBeginWithTheOptimizersRate) {
  const auto rates = PlannedRates(PlanOf("callbacks { name: 'ReduceLROnPlateau' }", 3));
  ASSERT_EQ(rates.size(), 1);
  EXPECT_EQ(rates[0].learning_rate(), 0.5);
  EXPECT_TRUE(rates[0].planned());
}

TEST(PlannedRatesTest, AScheduleOfEpochsCountsFromTheInitialOneAndItsLastRateStays) {
  proto::JobPlan plan = PlanOf(
      "callbacks { name: 'learning_rate_scheduler' schedule_epochs: [0.4, 0.3, 0.3, 0.2] }", 6);
  EXPECT_EQ(RatesByEpoch(plan), (std::vector<float>{0.4f, 0.3f, 0.3f, 0.2f, 0.2f, 0.2f}));
  EXPECT_EQ(PlannedRates(plan).size(), 3) << "one for each change";
  plan.mutable_job()->set_initial_epoch(2);
  EXPECT_EQ(RatesByEpoch(plan), (std::vector<float>{0.3f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f}));
}

TEST(PlannedRatesTest, ASchedulesStepIsTheEpoch) {
  const proto::JobPlan plan = PlanOf(
      "callbacks { name: 'LearningRateScheduler' schedule { name: 'exponential_decay' "
      "initial_learning_rate: 0.8 decay_steps: 1 decay_rate: 0.5 } }",
      4);
  EXPECT_EQ(RatesByEpoch(plan), (std::vector<float>{0.8f, 0.4f, 0.2f, 0.1f}));
}

// Horovod's LearningRateWarmupCallback, written again: on_batch_begin and its multiplier.
double Horovod(double initial_lr, int64_t epoch, int64_t update, int64_t updates, double size,
               double warmup_epochs) {
  double at = static_cast<double>(epoch) + static_cast<double>(update) / updates;
  at += 1.0 / updates;
  return initial_lr * (1.0 / size * (at * (size - 1) / warmup_epochs + 1));
}

TEST(PlannedRatesTest, AWarmUpIsHorovods) {
  for (const int64_t size : {2, 8}) {
    const std::string says = size == 2 ? "" : "size: 8 initial_lr: 0.75 ";
    const proto::JobPlan plan =
        PlanOf("callbacks { name: 'learning_rate_warmup' warmup_epochs: 3 " + says + "}", 5);
    const double full = size == 2 ? 0.5 : 0.75;
    const storage::RateChanges rates(PlannedRates(plan));
    EXPECT_EQ(rates.count(), 4);
    for (int64_t batch = 0; batch < plan.total_batches(); ++batch) {
      const int64_t epoch = batch / 5;
      const double expected =
          epoch < 3 ? Horovod(full, epoch, batch % 5 / 2, 3, static_cast<double>(size), 3) : full;
      EXPECT_FLOAT_EQ(*rates.At(batch), expected) << "batch " << batch << ", size " << size;
    }
  }
}

TEST(PlannedRatesTest, AfterAWarmUpTheScheduleHolds) {
  const proto::JobPlan plan = PlanOf(
      "callbacks { name: 'learning_rate_scheduler' schedule_epochs: [9, 9, 0.25, 0.125] }"
      "callbacks { name: 'learning_rate_warmup' warmup_epochs: 2 }",
      4);
  const std::vector<float> rates = RatesByEpoch(plan);
  EXPECT_FLOAT_EQ(rates[0], Horovod(0.5, 0, 0, 3, 2, 2));
  EXPECT_FLOAT_EQ(rates[1], Horovod(0.5, 1, 0, 3, 2, 2));
  EXPECT_EQ(rates[2], 0.25f);
  EXPECT_EQ(rates[3], 0.125f);
}

TEST(PlannedRatesTest, RatesAreScaledByTheBatchesOfAnUpdate) {
  EXPECT_EQ(RatesByEpoch(PlanOf("scale_learning_rate: true", 2)), (std::vector<float>{1, 1}));
  EXPECT_EQ(RatesByEpoch(PlanOf("scale_learning_rate: true callbacks { name: "
                                "'learning_rate_scheduler' schedule_epochs: [0.4, 0.3] }",
                                2)),
            (std::vector<float>{0.8f, 0.6f}));
  const auto rates =
      RatesByEpoch(PlanOf("scale_learning_rate: true callbacks { name: 'learning_rate_warmup' "
                          "warmup_epochs: 1 }",
                          2));
  EXPECT_FLOAT_EQ(rates[0], Horovod(1, 0, 0, 3, 2, 1));
  EXPECT_EQ(rates[1], 1);
}

}  // namespace
}  // namespace cairn::coordinator

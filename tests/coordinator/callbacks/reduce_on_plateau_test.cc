#include "coordinator/callbacks/reduce_on_plateau.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::coordinator {
namespace {

// The learning rate of each epoch, if the monitored values are `values`.
std::vector<float> Rates(const ReduceOnPlateau::Options& options, const std::vector<double>& values,
                         float rate) {
  ReduceOnPlateau reduce(options);
  std::vector<float> rates;
  for (int64_t epoch = 0; epoch < static_cast<int64_t>(values.size()); ++epoch) {
    rates.push_back(rate);
    const CallbackDecision decision = reduce.OnEpochEnd({epoch, values[epoch], rate});
    rate = decision.learning_rate.value_or(rate);
  }
  return rates;
}

ReduceOnPlateau::Options Options(int64_t patience, double factor) {
  ReduceOnPlateau::Options options;
  options.monitor = "val_loss";
  options.patience = patience;
  options.factor = factor;
  options.min_delta = 0;
  return options;
}

TEST(ReduceOnPlateauTest, ReducesAfterPatienceEpochsWithoutImprovement) {
  EXPECT_EQ(Rates(Options(2, 0.5), {1, 0.9, 0.9, 0.95, 0.9, 0.9, 0.8}, 1),
            (std::vector<float>{1, 1, 1, 1, 0.5, 0.5, 0.25}));
}

// Keras: nothing is counted in a cooldown, except its last epoch.
TEST(ReduceOnPlateauTest, LooksAwayWhileItCoolsDown) {
  ReduceOnPlateau::Options options = Options(1, 0.5);
  options.cooldown = 2;
  // Epoch 1 reduces; epoch 2: 2 -> 1, still cooling; epoch 3: 1 -> 0, counts, reduces.
  EXPECT_EQ(Rates(options, {1, 1, 1, 1, 1, 1}, 1),
            (std::vector<float>{1, 1, 0.5, 0.5, 0.25, 0.25}));
}

TEST(ReduceOnPlateauTest, NeverGoesBelowMinLr) {
  ReduceOnPlateau::Options options = Options(1, 0.25);
  options.min_lr = 0.125;
  EXPECT_EQ(Rates(options, {1, 1, 1, 1, 1}, 1), (std::vector<float>{1, 1, 0.25, 0.125, 0.125}));
}

TEST(ReduceOnPlateauTest, AnImprovementMustBeLargerThanMinDelta) {
  ReduceOnPlateau::Options options = Options(1, 0.5);
  options.min_delta = 0.125;
  EXPECT_EQ(Rates(options, {1, 0.875, 0.75, 0.5}, 1), (std::vector<float>{1, 1, 0.5, 0.5}));
}

TEST(ReduceOnPlateauTest, OfAnAccuracyTheLargerIsTheBetter) {
  ReduceOnPlateau::Options options = Options(1, 0.5);
  options.larger_is_better = true;
  EXPECT_EQ(Rates(options, {0.5, 0.6, 0.6, 0.7}, 1), (std::vector<float>{1, 1, 1, 0.5}));
}

// Keras reads the float rate, multiplies in double, and stores a float again.
TEST(ReduceOnPlateauTest, RoundsAsKerasDoes) {
  const std::vector<float> rates = Rates(Options(1, 0.1), {1, 1, 1}, 0.001f);
  EXPECT_EQ(rates[2], static_cast<float>(static_cast<double>(0.001f) * 0.1));
}

TEST(ReduceOnPlateauTest, TheNoteSaysWhatChanged) {
  ReduceOnPlateau reduce(Options(1, 0.5));
  reduce.OnEpochEnd({0, 0.25, 1});
  EXPECT_EQ(reduce.OnEpochEnd({1, 0.75, 1}).note,
            "reduce_lr_on_plateau after epoch 2: learning rate 1 -> 0.5 (val_loss 0.75, the best "
            "was 0.25)");
}

}  // namespace
}  // namespace cairn::coordinator

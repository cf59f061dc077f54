#include "coordinator/callbacks/early_stopping.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cairn::coordinator {
namespace {

struct End {
  int64_t stopped_epoch = -1;  // -1: it never stopped.
  int64_t best_epoch = -1;
};

// Keras's loop: runs epochs until one is the last.
End Train(EarlyStopping::Options options, const std::vector<double>& values) {
  options.restore_best_weights = true;
  EarlyStopping stopper(options);
  End end;
  for (int64_t epoch = 0; epoch < static_cast<int64_t>(values.size()); ++epoch) {
    if (!stopper.OnEpochEnd({epoch, values[epoch], 0}).stop) continue;
    end.stopped_epoch = epoch;
    break;
  }
  if (stopper.best().has_value()) end.best_epoch = stopper.best()->epoch;
  return end;
}

EarlyStopping::Options Patience(int64_t patience) {
  EarlyStopping::Options options;
  options.monitor = "val_loss";
  options.patience = patience;
  return options;
}

// The table of Keras's own early_stopping_test.py: it stops at max(patience, 1) + 2.
TEST(EarlyStoppingTest, StopsInTheEpochThatKerasStopsIn) {
  const std::vector<double> losses = {10.0, 9.0, 8.0, 9.0, 8.9, 8.8, 8.7, 8.6, 8.5};
  for (const int64_t patience : {0, 1, 2, 3}) {
    const End end = Train(Patience(patience), losses);
    EXPECT_EQ(end.stopped_epoch, std::max<int64_t>(patience, 1) + 2) << "patience " << patience;
    EXPECT_EQ(end.best_epoch, 2);
  }
}

// From the same file: "the best configuration is in the epoch 2".
TEST(EarlyStoppingTest, TheBestEpochIsKeptWhateverCameAfter) {
  const End end = Train(Patience(2), {0.2, 0.15, 0.1, 0.11, 0.12});
  EXPECT_EQ(end.stopped_epoch, 4);
  EXPECT_EQ(end.best_epoch, 2);
}

// From the same file: no epoch beats the baseline, so 5 epochs are trained.
TEST(EarlyStoppingTest, ImprovementsThatDoNotPassTheBaselineDoNotMakeItMorePatient) {
  EarlyStopping::Options options = Patience(5);
  options.baseline = 0.5;
  const End end = Train(options, {0.9, 0.8, 0.7, 0.71, 0.72, 0.73});
  EXPECT_EQ(end.stopped_epoch, 4);
  EXPECT_EQ(end.best_epoch, 2);
}

TEST(EarlyStoppingTest, APassedBaselineMakesItPatientAgain) {
  EarlyStopping::Options options = Patience(2);
  options.baseline = 0.5;
  EXPECT_EQ(Train(options, {0.9, 0.4, 0.45, 0.46, 0.1}).stopped_epoch, 3);
}

TEST(EarlyStoppingTest, AnImprovementMustBeLargerThanMinDelta) {
  EarlyStopping::Options options = Patience(2);
  options.improves = Improvement(false, 0.25);
  // 0.75 is not below 1 - 0.25; 0.5 is.
  EXPECT_EQ(Train(options, {1.0, 0.75, 0.5, 0.5, 0.5}).stopped_epoch, 4);
  EXPECT_EQ(Train(options, {1.0, 0.75, 0.75, 0.5}).stopped_epoch, 2);
}

TEST(EarlyStoppingTest, OfAnAccuracyTheLargerIsTheBetter) {
  EarlyStopping::Options options = Patience(1);
  options.improves = Improvement(true, 0);
  const End end = Train(options, {0.5, 0.7, 0.6, 0.9});
  EXPECT_EQ(end.stopped_epoch, 2);
  EXPECT_EQ(end.best_epoch, 1);
}

TEST(EarlyStoppingTest, EpochsBeforeTheFirstThatCountsAreNotLookedAt) {
  EarlyStopping::Options options = Patience(1);
  options.start_from_epoch = 3;
  const End end = Train(options, {0.1, 0.2, 0.3, 0.9, 0.8, 0.85});
  EXPECT_EQ(end.stopped_epoch, 5);
  EXPECT_EQ(end.best_epoch, 4);
}

TEST(EarlyStoppingTest, ALossThatIsNoNumberIsNoImprovement) {
  const End end = Train(Patience(2), {1.0, NAN, NAN, 0.5});
  EXPECT_EQ(end.stopped_epoch, 2);
  EXPECT_EQ(end.best_epoch, 0);
}

TEST(EarlyStoppingTest, TheFirstEpochNeverStops) {
  EXPECT_EQ(Train(Patience(0), {NAN, NAN}).stopped_epoch, 1);
}

TEST(EarlyStoppingTest, WithoutRestoreBestWeightsNothingIsKept) {
  EarlyStopping stopper(Patience(2));
  stopper.OnEpochEnd({0, 1.0, 0});
  EXPECT_FALSE(stopper.best().has_value());
}

TEST(EarlyStoppingTest, TheNoteSaysWhy) {
  EarlyStopping stopper(Patience(1));
  stopper.OnEpochEnd({0, 0.25, 0});
  EXPECT_EQ(stopper.OnEpochEnd({1, 0.5, 0}).note,
            "early_stopping after epoch 2: val_loss 0.5, the best was 0.25 in epoch 1");
}

}  // namespace
}  // namespace cairn::coordinator

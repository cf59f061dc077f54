#include "coordinator/callbacks/best_checkpoint_keeper.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace cairn::coordinator {
namespace {

std::vector<int64_t> BestEpochs(BestCheckpointKeeper keeper, const std::vector<double>& values) {
  std::vector<int64_t> best;
  for (int64_t epoch = 0; epoch < static_cast<int64_t>(values.size()); ++epoch) {
    keeper.OnEpochEnd({epoch, values[epoch], 0});
    best.push_back(keeper.best().has_value() ? keeper.best()->epoch : -1);
  }
  return best;
}

TEST(BestCheckpointKeeperTest, KeepsTheSmallestAndTheFirstOfEqualOnes) {
  EXPECT_EQ(BestEpochs({Improvement(false, 0), std::nullopt}, {3, 2, 2, 4, 1}),
            (std::vector<int64_t>{0, 1, 1, 1, 4}));
}

TEST(BestCheckpointKeeperTest, KeepsTheLargestOfAnAccuracy) {
  EXPECT_EQ(BestEpochs({Improvement(true, 0), std::nullopt}, {0.5, 0.4, 0.6}),
            (std::vector<int64_t>{0, 0, 2}));
}

TEST(BestCheckpointKeeperTest, KeepsNothingThatIsNotBetterThanTheThreshold) {
  EXPECT_EQ(BestEpochs({Improvement(false, 0), 1.0}, {3, 1, 0.5}),
            (std::vector<int64_t>{-1, -1, 2}));
}

TEST(BestCheckpointKeeperTest, KeepsNothingThatIsNoNumber) {
  EXPECT_EQ(BestEpochs({Improvement(false, 0), std::nullopt}, {NAN, 2, NAN}),
            (std::vector<int64_t>{-1, 1, 1}));
}

}  // namespace
}  // namespace cairn::coordinator

#include "nn/moving_average.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn::nn {
namespace {

TEST(MovingAverageTest, MovesByOneMinusMomentumTowardsTheBatch) {
  const std::vector<float> old = {0, 1, -2}, batch = {1, 3, 2};
  std::vector<float> out(3);
  ApplyMovingAverage(3, batch.data(), 0.75, old.data(), out.data());
  EXPECT_EQ(out, (std::vector<float>{0.25f, 1.5f, -1}));
}

TEST(MovingAverageTest, MayWriteOverItsInput) {
  std::vector<float> values(1000, 4), batch(1000, 0);
  ApplyMovingAverage(1000, batch.data(), 0.5, values.data(), values.data());
  EXPECT_EQ(values, std::vector<float>(1000, 2));
}

TEST(MovingAverageTest, ConvergesGeometrically) {
  float value = 0;
  const float batch = 1;
  for (int i = 0; i < 100; ++i) ApplyMovingAverage(1, &batch, 0.99, &value, &value);
  EXPECT_NEAR(value, 0.633967659, 1e-5);  // 1 - 0.99^100
}

}  // namespace
}  // namespace cairn::nn

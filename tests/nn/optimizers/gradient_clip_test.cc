#include "nn/optimizers/gradient_clip.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "proto/job.pb.h"

namespace cairn::nn {
namespace {

TEST(GradientClipTest, ANormIsCutToTheLimit) {
  proto::Optimizer config;
  config.set_clipnorm(2);
  const GradientClip clip = GradientClip::Create(config).value();
  EXPECT_TRUE(clip.needs_norm());
  EXPECT_EQ(clip.NormScale(0), 1);
  EXPECT_EQ(clip.NormScale(4), 1);
  EXPECT_EQ(clip.NormScale(16), 0.5f);
}

TEST(GradientClipTest, AnInfiniteNormLeavesNoGradient) {
  proto::Optimizer config;
  config.set_global_clipnorm(2);
  const GradientClip clip = GradientClip::Create(config).value();
  EXPECT_TRUE(std::isnan(clip.NormScale(std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(std::isnan(clip.NormScale(std::nan(""))));
}

TEST(GradientClipTest, ValuesNeedNoNorm) {
  proto::Optimizer config;
  EXPECT_EQ(GradientClip::Create(config).value().kind(), GradientClip::Kind::kNone);
  config.set_clipvalue(0.5);
  const GradientClip clip = GradientClip::Create(config).value();
  EXPECT_FALSE(clip.needs_norm());
  EXPECT_EQ(clip.limit(), 0.5);
  config.set_global_clipnorm(1);
  EXPECT_FALSE(GradientClip::Create(config).ok());
}

TEST(GradientClipTest, SumsOfSquaresAreRightForEverySize) {
  for (int size : {0, 1, 15, 16, 17, 1000}) {
    std::vector<float> values;
    double expected = 0;
    for (int i = 0; i < size; ++i) {
      values.push_back(static_cast<float>(i) - 7.25f);
      expected += (i - 7.25) * (i - 7.25);
    }
    EXPECT_DOUBLE_EQ(SumOfSquares(values), expected) << size;
  }
}

TEST(GradientClipTest, LargeFloatsDoNotOverflow) {
  const std::vector<float> values(100, std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isfinite(SumOfSquares(values)));
}

TEST(GradientClipTest, EachNormOrThatOfAllDecides) {
  const std::vector<double> sums = {25, 0, 144};
  proto::Optimizer config;
  EXPECT_EQ(GradientClip::Create(config)->NormScales(sums), std::vector<float>({1, 1, 1}));
  config.set_clipnorm(6);
  EXPECT_EQ(GradientClip::Create(config)->NormScales(sums), std::vector<float>({1, 1, 0.5}));
  config.clear_clipnorm();
  config.set_global_clipnorm(3.25);
  EXPECT_EQ(GradientClip::Create(config)->NormScales(sums), std::vector<float>(3, 0.25));
}

}  // namespace
}  // namespace cairn::nn

#include "nn/cpu/channel_loops.h"

#include <cmath>
#include <limits>
#include <vector>

#include "common/random.h"
#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

constexpr float kNoBound = std::numeric_limits<float>::quiet_NaN();

std::vector<float> Draw(uint64_t key, int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = 4 * RandomUniform(key, i) - 2;
  return values;
}

// All combinations of row counts that do or do not fill groups, channel counts that do or do not
// fill vectors, and bounds.
struct Sizes {
  int64_t rows;
  int64_t channels;
  float low;
  float top;
};

class ChannelLoopsTest : public ::testing::TestWithParam<Sizes> {
 protected:
  ChannelLoopsTest()
      : rows_(GetParam().rows),
        channels_(GetParam().channels),
        x_(Draw(1, rows_ * channels_)),
        g_(Draw(2, rows_ * channels_)),
        mean_(Draw(3, channels_)),
        scale_(Draw(4, channels_)),
        shift_(Draw(5, channels_)),
        map_{.scale = scale_.data(),
             .shift = shift_.data(),
             .low = GetParam().low,
             .top = GetParam().top} {}

  double Mapped(int64_t row, int64_t c) const {
    return static_cast<double>(x_[row * channels_ + c]) * scale_[c] + shift_[c];
  }
  // The gradient with respect to the value before clamping.
  double Gradient(int64_t row, int64_t c) const {
    const double value = Mapped(row, c);
    return value <= map_.low || value >= map_.top ? 0 : g_[row * channels_ + c];
  }

  const int64_t rows_;
  const int64_t channels_;
  const std::vector<float> x_;
  const std::vector<float> g_;
  const std::vector<float> mean_;
  const std::vector<float> scale_;
  const std::vector<float> shift_;
  const ChannelMap map_;
};

TEST_P(ChannelLoopsTest, ValuesAreScaledShiftedAndCut) {
  std::vector<float> y(rows_ * channels_);
  MapChannels(rows_, channels_, x_.data(), map_, y.data());
  for (int64_t row = 0; row < rows_; ++row) {
    for (int64_t c = 0; c < channels_; ++c) {
      double expected = Mapped(row, c);
      if (expected < map_.low) expected = map_.low;
      if (expected > map_.top) expected = map_.top;
      ASSERT_NEAR(y[row * channels_ + c], expected, 1e-5);
    }
  }
}

TEST_P(ChannelLoopsTest, SumsAndMomentsAreThoseOfPlainLoops) {
  std::vector<double> sums(channels_, -1);
  std::vector<double> means(channels_, -1);
  std::vector<double> squares(channels_, -1);
  ChannelMoments moments = {.means = means.data(), .squares = squares.data()};
  SumChannels(rows_, channels_, x_.data(), sums.data());
  std::vector<float> shift(channels_);
  MeasureChannels(rows_, channels_, x_.data(), shift.data(), &moments);
  EXPECT_EQ(moments.rows, rows_);
  for (int64_t c = 0; c < channels_; ++c) {
    double sum = 0;
    for (int64_t row = 0; row < rows_; ++row) sum += x_[row * channels_ + c];
    const double mean = sum / static_cast<double>(rows_);
    double square = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      square += (x_[row * channels_ + c] - mean) * (x_[row * channels_ + c] - mean);
    }
    ASSERT_NEAR(sums[c], sum, 1e-6 * rows_);
    ASSERT_NEAR(means[c], mean, 1e-6);
    ASSERT_NEAR(squares[c], square, 1e-6 * (1 + square));
  }
}

TEST_P(ChannelLoopsTest, GradientsFlowOnlyBetweenTheBounds) {
  std::vector<double> sums(channels_, -1);
  std::vector<double> products(channels_, -1);
  std::vector<float> scratch(2 * channels_);
  SumMapGradients(rows_, channels_, x_.data(), map_, mean_.data(), g_.data(), scratch.data(),
                  sums.data(), products.data());
  std::vector<float> mixed = g_;
  const ChannelMix mix = {.a = shift_.data(), .b = mean_.data(), .c = scale_.data()};
  MixMapGradients(rows_, channels_, x_.data(), map_, mix, mixed.data(), mixed.data());
  for (int64_t c = 0; c < channels_; ++c) {
    double sum = 0;
    double product = 0;
    for (int64_t row = 0; row < rows_; ++row) {
      const double x = x_[row * channels_ + c];
      sum += Gradient(row, c);
      product += Gradient(row, c) * (x - mean_[c]);
      ASSERT_NEAR(mixed[row * channels_ + c],
                  shift_[c] * Gradient(row, c) + mean_[c] * x + scale_[c], 1e-5);
    }
    ASSERT_NEAR(sums[c], sum, 1e-6 * rows_);
    ASSERT_NEAR(products[c], product, 4e-6 * rows_);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ChannelLoopsTest,
                         ::testing::Values(Sizes{1, 1, kNoBound, kNoBound},
                                           Sizes{7, 3, 0, kNoBound}, Sizes{8, 16, 0, 1},
                                           Sizes{101, 33, 0, 1}, Sizes{64, 96, kNoBound, 1},
                                           Sizes{5000, 7, 0, kNoBound}));

// A few rows are far from the others.
TEST(ChannelLoopsTest, SmallDeviationsFromALargeMeanAreNotLost) {
  constexpr int64_t kRows = 40000;
  std::vector<float> x(kRows);
  for (int64_t row = 0; row < kRows; ++row) {
    x[row] = (row < 32 ? 900.0f : 1000.0f) + 0.01f * RandomUniform(1, row);
  }
  double sum = 0;
  for (float value : x) sum += value;
  double square = 0;
  for (float value : x) square += (value - sum / kRows) * (value - sum / kRows);
  double mean = 0;
  double squares = 0;
  ChannelMoments moments = {.means = &mean, .squares = &squares};
  float shift = 0;
  MeasureChannels(kRows, 1, x.data(), &shift, &moments);
  EXPECT_NEAR(mean, sum / kRows, 1e-6);
  EXPECT_NEAR(squares, square, 1e-6 * square);
  MeasureChannels(kRows - 32, 1, x.data() + 32, &shift, &moments);
  EXPECT_NEAR(squares / kRows, 0.01 * 0.01 / 12, 1e-7);
}

TEST(ChannelLoopsTest, NotANumberStaysThat) {
  const float one = 1;
  const float zero = 0;
  const float x = std::nanf("");
  float y = 0;
  MapChannels(1, 1, &x, {.scale = &one, .shift = &zero, .low = 0, .top = 6}, &y);
  EXPECT_TRUE(std::isnan(y));
}

}  // namespace
}  // namespace cairn::nn

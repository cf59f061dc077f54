#include "nn/cpu/column_sum.h"

#include <vector>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

TEST(ColumnSumTest, EachColumnIsSummedOverAllRows) {
  for (int64_t width : {1, 3, 16, 33}) {
    constexpr int64_t kRows = 100;
    std::vector<float> values(kRows * width);
    for (int64_t i = 0; i < kRows * width; ++i) values[i] = static_cast<float>(i % width) + 1;
    std::vector<double> scratch(width);
    std::vector<float> sums(width);
    SumColumns(kRows, width, values.data(), scratch.data(), sums.data());
    for (int64_t c = 0; c < width; ++c) EXPECT_EQ(sums[c], kRows * (c + 1));
  }
}

TEST(ColumnSumTest, SmallNumbersAreNotLostBesideLargeOnes) {
  std::vector<float> values(1 << 20, 1);
  values[0] = 1 << 26;
  double scratch;
  float sum;
  SumColumns(values.size(), 1, values.data(), &scratch, &sum);
  EXPECT_EQ(sum, static_cast<float>((1 << 26) + (1 << 20) - 1));
}

}  // namespace
}  // namespace cairn::nn

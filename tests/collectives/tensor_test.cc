#include "collectives/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace cairn::collectives {
namespace {

constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAverage, ReduceOp::kMin, ReduceOp::kMax,
                             ReduceOp::kProduct};

template <typename T>
std::vector<T> Reduced(ReduceOp op, DataType type, std::vector<T> into,
                       const std::vector<T>& from) {
  Reduce(op, type, from.data(), from.size(), into.data());
  return into;
}

TEST(TensorTest, EachOpOnFloatsAndIntegers) {
  const std::vector<float> a = {1, -2, 8};
  const std::vector<float> b = {4, 5, -0.5F};
  const std::vector<std::vector<float>> expected = {
      {5, 3, 7.5F}, {5, 3, 7.5F}, {1, -2, -0.5F}, {4, 5, 8}, {4, -10, -4}};
  const std::vector<int32_t> ints = {1, -2, 8};
  const std::vector<int32_t> others = {4, 5, -3};
  const std::vector<std::vector<int32_t>> whole = {
      {5, 3, 5}, {5, 3, 5}, {1, -2, -3}, {4, 5, 8}, {4, -10, -24}};
  for (size_t i = 0; i < std::size(kOps); ++i) {
    EXPECT_EQ(Reduced(kOps[i], DataType::kFloat32, a, b), expected[i]) << NameOf(kOps[i]);
    EXPECT_EQ(Reduced(kOps[i], DataType::kInt32, ints, others), whole[i]) << NameOf(kOps[i]);
    const std::vector<int64_t> longs(ints.begin(), ints.end());
    const std::vector<int64_t> long_others(others.begin(), others.end());
    EXPECT_EQ(Reduced(kOps[i], DataType::kInt64, longs, long_others),
              std::vector<int64_t>(whole[i].begin(), whole[i].end()));
  }
}

// 1 is 0x3C00 in float16 and 0x3F80 in bfloat16.
TEST(TensorTest, HalvesAreRoundedToNearestEven) {
  using Halves = std::vector<uint16_t>;
  const auto f16 = [](uint16_t a, uint16_t b) {
    return Reduced(ReduceOp::kSum, DataType::kFloat16, Halves{a}, Halves{b})[0];
  };
  EXPECT_EQ(f16(0x3C00, 0x3C00), 0x4000) << "1 + 1";
  EXPECT_EQ(f16(0x6800, 0x3C00), 0x6800) << "2048 + 1 = 2049 is halfway: to the even 2048";
  EXPECT_EQ(f16(0x6801, 0x3C00), 0x6802) << "2050 + 1 is halfway: to the even 2052";
  EXPECT_EQ(f16(0x0001, 0x0001), 0x0002) << "subnormal: 2^-24 + 2^-24";
  EXPECT_EQ(f16(0x03FF, 0x0001), 0x0400) << "the least normal number";
  EXPECT_EQ(f16(0x7BFF, 0x7BFF), 0x7C00) << "65504 + 65504 is infinite";
  EXPECT_EQ(f16(0xFC00, 0x3C00), 0xFC00) << "-infinity + 1";
  EXPECT_EQ(f16(0x7C00, 0xFC00) & 0x7E00, 0x7E00) << "infinity - infinity is no number";
  EXPECT_EQ(f16(0x8000, 0x8000), 0x8000) << "-0 + -0";
  const auto bf16 = [](uint16_t a, uint16_t b) {
    return Reduced(ReduceOp::kSum, DataType::kBfloat16, Halves{a}, Halves{b})[0];
  };
  EXPECT_EQ(bf16(0x3F80, 0x3F80), 0x4000);
  EXPECT_EQ(bf16(0x4380, 0x3F80), 0x4380) << "256 + 1 is halfway: to the even 256";
  EXPECT_EQ(bf16(0x4381, 0x3F80), 0x4382) << "258 + 1 is halfway: to the even 260";
  EXPECT_TRUE((bf16(0x7F80, 0xFF80) & 0x7FFF) > 0x7F80) << "infinity - infinity is no number";
}

// Every float16 survives the way to float32 and back.
TEST(TensorTest, AddingZeroKeepsEveryHalf) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (const auto& [type, infinity] :
         {std::pair(DataType::kFloat16, 0x7C00U), std::pair(DataType::kBfloat16, 0x7F80U)}) {
      if ((bits & 0x7FFF) > infinity) continue;
      std::vector<uint16_t> value = {static_cast<uint16_t>(bits)};
      const std::vector<uint16_t> minus_zero = {0x8000};
      Reduce(ReduceOp::kSum, type, minus_zero.data(), 1, value.data());
      ASSERT_EQ(value[0], bits);
    }
  }
}

TEST(TensorTest, InfinityAndNoNumbersOfHalves) {
  using Halves = std::vector<uint16_t>;
  const auto of = [](ReduceOp op, DataType type, uint16_t a, uint16_t b) {
    return Reduced(op, type, Halves{a}, Halves{b})[0];
  };
  const DataType f16 = DataType::kFloat16;
  const DataType bf16 = DataType::kBfloat16;
  EXPECT_EQ(of(ReduceOp::kProduct, f16, 0x7BFF, 0x4000), 0x7C00) << "65504 * 2";
  EXPECT_EQ(of(ReduceOp::kProduct, f16, 0x0001, 0x3800), 0x0000) << "2^-24 / 2: tie to even";
  EXPECT_EQ(of(ReduceOp::kProduct, f16, 0x8003, 0x3800), 0x8002) << "-3 2^-24 / 2: tie to even";
  EXPECT_EQ(of(ReduceOp::kProduct, f16, 0x8000, 0x7BFF), 0x8000) << "-0";
  EXPECT_EQ(of(ReduceOp::kMin, f16, 0xFC00, 0x0000), 0xFC00);
  EXPECT_EQ(of(ReduceOp::kMax, f16, 0x7C00, 0x7BFF), 0x7C00);
  EXPECT_GT(of(ReduceOp::kProduct, f16, 0x7C00, 0x0000) & 0x7FFF, 0x7C00) << "infinity * 0";
  EXPECT_EQ(of(ReduceOp::kSum, bf16, 0x7F7F, 0x7F7F), 0x7F80) << "the greatest, twice";
  EXPECT_EQ(of(ReduceOp::kProduct, bf16, 0x0001, 0x3F00), 0x0000) << "the least, halved";
  EXPECT_GT(of(ReduceOp::kSum, bf16, 0x7F81, 0x3F80) & 0x7FFF, 0x7F80) << "a signaling one stays";
  Halves averaged = {0x7BFF, 0x0001};
  DivideInPlace(f16, 2, 2, averaged.data());
  EXPECT_EQ(averaged, (Halves{0x77FF, 0x0000}));
}

TEST(TensorTest, ANeutralValueChangesNothing) {
  for (const ReduceOp op : kOps) {
    const std::vector<float> floats = {0.0F, -2.5F, 1e30F};
    std::vector<float> neutral_floats(3);
    FillNeutral(op, DataType::kFloat32, 3, neutral_floats.data());
    EXPECT_EQ(Reduced(op, DataType::kFloat32, floats, neutral_floats), floats) << NameOf(op);
    const std::vector<int64_t> longs = {0, -5, std::numeric_limits<int64_t>::max()};
    std::vector<int64_t> neutral_longs(3);
    FillNeutral(op, DataType::kInt64, 3, neutral_longs.data());
    EXPECT_EQ(Reduced(op, DataType::kInt64, longs, neutral_longs), longs) << NameOf(op);
    const std::vector<int32_t> ints = {0, -5, std::numeric_limits<int32_t>::lowest()};
    std::vector<int32_t> neutral_ints(3);
    FillNeutral(op, DataType::kInt32, 3, neutral_ints.data());
    EXPECT_EQ(Reduced(op, DataType::kInt32, ints, neutral_ints), ints) << NameOf(op);
    for (const auto& [type, infinity] :
         {std::pair(DataType::kFloat16, 0x7C00), std::pair(DataType::kBfloat16, 0x7F80)}) {
      const std::vector<uint16_t> halves = {0x0000, 0xBC00, static_cast<uint16_t>(infinity)};
      std::vector<uint16_t> neutral(3);
      FillNeutral(op, type, 3, neutral.data());
      EXPECT_EQ(Reduced(op, type, halves, neutral), halves) << NameOf(op);
    }
  }
}

TEST(TensorTest, TheResultMayBeAThirdTensorOrEitherOne) {
  const std::vector<int32_t> a = {1, 2, 3};
  const std::vector<int32_t> b = {10, 20, 30};
  const std::vector<int32_t> sum = {11, 22, 33};
  std::vector<int32_t> c(3);
  Reduce(ReduceOp::kSum, DataType::kInt32, a.data(), b.data(), 3, c.data());
  EXPECT_EQ(c, sum);
  std::vector<int32_t> first = a;
  Reduce(ReduceOp::kSum, DataType::kInt32, first.data(), b.data(), 3, first.data());
  EXPECT_EQ(first, sum);
  std::vector<int32_t> second = b;
  Reduce(ReduceOp::kSum, DataType::kInt32, a.data(), second.data(), 3, second.data());
  EXPECT_EQ(second, sum);
}

TEST(TensorTest, ScalesAndDivides) {
  std::vector<float> floats = {1, 3};
  ScaleInPlace(DataType::kFloat32, 0.5, 2, floats.data());
  EXPECT_EQ(floats, (std::vector<float>{0.5F, 1.5F}));
  DivideInPlace(DataType::kFloat32, 2, 2, floats.data());
  EXPECT_EQ(floats, (std::vector<float>{0.25F, 0.75F}));
  std::vector<int32_t> ints = {7, -7};
  DivideInPlace(DataType::kInt32, 2, 2, ints.data());
  EXPECT_EQ(ints, (std::vector<int32_t>{3, -3})) << "toward zero";
  ScaleInPlace(DataType::kInt32, 1, 2, ints.data());
}

TEST(TensorTest, IntegersWrapAround) {
  const int32_t most = std::numeric_limits<int32_t>::max();
  EXPECT_EQ(Reduced(ReduceOp::kSum, DataType::kInt32, std::vector<int32_t>{most}, {1})[0],
            std::numeric_limits<int32_t>::min());
}

}  // namespace
}  // namespace cairn::collectives

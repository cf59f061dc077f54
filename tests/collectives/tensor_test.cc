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

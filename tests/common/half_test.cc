#include "common/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace cairn {
namespace {

// The definition of both formats: `exponent_bits`, then the rest.
double Value(uint32_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1));
  const double one = std::ldexp(1.0, fraction_bits);
  double magnitude = std::ldexp(one + fraction, exponent - bias - fraction_bits);
  if (exponent == 0) magnitude = std::ldexp(fraction, 1 - bias - fraction_bits);
  if (exponent == (1 << exponent_bits) - 1) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

struct Format {
  std::string name;
  int exponent_bits;
  float (*to_float)(uint16_t);
  uint16_t (*from_float)(float);
  uint32_t infinity;
};

const Format kFormats[] = {{"float16", 5, FloatFromFloat16, Float16FromFloat, 0x7C00},
                           {"bfloat16", 8, FloatFromBfloat16, Bfloat16FromFloat, 0x7F80}};

TEST(HalfTest, AllNumbersHaveTheirValuesAndComeBack) {
  for (const Format& format : kFormats) {
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      const float value = format.to_float(half);
      if ((bits & 0x7FFF) > format.infinity) {
        ASSERT_TRUE(std::isnan(value)) << format.name << " " << bits;
        const uint16_t back = format.from_float(value);
        ASSERT_GT(back & 0x7FFFU, format.infinity) << format.name << " " << bits << ": still none";
        ASSERT_EQ(back & 0x8000U, bits & 0x8000U) << format.name << " " << bits;
        continue;
      }
      ASSERT_EQ(value, Value(bits, format.exponent_bits)) << format.name << " " << bits;
      ASSERT_EQ(std::signbit(value), bits >= 0x8000) << format.name << " " << bits;
      ASSERT_EQ(format.from_float(value), half) << format.name << " " << bits;
    }
  }
}

// Between each number and the next one: at the middle, to the even one, and beside the middle. The
// number after the greatest would be the power of 2 at which infinity begins.
TEST(HalfTest, NumbersInBetweenAreRoundedToTheNearestEven) {
  for (const Format& format : kFormats) {
    for (uint32_t bits = 0; bits < format.infinity; ++bits) {
      const double below = Value(bits, format.exponent_bits);
      const double above = bits + 1 < format.infinity
                               ? Value(bits + 1, format.exponent_bits)
                               : below + (below - Value(bits - 1, format.exponent_bits));
      const auto middle = static_cast<float>((below + above) / 2);
      ASSERT_EQ(middle, (below + above) / 2) << "a float32 can be the middle";
      const uint32_t even = (bits & 1) == 0 ? bits : bits + 1;
      for (const uint32_t sign : {0U, 0x8000U}) {
        const float s = sign == 0 ? 1.0F : -1.0F;
        ASSERT_EQ(format.from_float(s * middle), sign | even) << format.name << " " << bits;
        ASSERT_EQ(format.from_float(s * std::nextafter(middle, 0.0F)), sign | bits)
            << format.name << " " << bits;
        ASSERT_EQ(format.from_float(s * std::nextafter(middle, INFINITY)), sign | (bits + 1))
            << format.name << " " << bits;
      }
    }
    EXPECT_EQ(format.from_float(INFINITY), format.infinity);
    EXPECT_EQ(format.from_float(std::numeric_limits<float>::max()), format.infinity);
    EXPECT_EQ(format.from_float(-std::numeric_limits<float>::denorm_min()), 0x8000);
  }
}

}  // namespace
}  // namespace cairn

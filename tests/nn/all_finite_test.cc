#include "nn/all_finite.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

constexpr float kMax = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kSignalingNan = std::numeric_limits<float>::signaling_NaN();

TEST(AllFiniteTest, NumbersOfAllSizesAreFinite) {
  EXPECT_TRUE(AllFinite({}));
  EXPECT_TRUE(AllFinite({0.0f, -0.0f, kMax, -kMax, std::numeric_limits<float>::denorm_min(),
                         -std::numeric_limits<float>::min()}));
}

// Wherever it is: in the vectorized part of the loop or in the rest.
TEST(AllFiniteTest, OneValueThatIsNotFiniteIsFoundAtEveryPlace) {
  for (const float bad : {kInfinity, -kInfinity, kNan, -kNan, kSignalingNan, -kSignalingNan}) {
    for (const size_t count : {1u, 7u, 16u, 67u, 259u}) {
      std::vector<float> values(count, -kMax);
      for (size_t place = 0; place < count; ++place) {
        values[place] = bad;
        EXPECT_FALSE(AllFinite(values)) << bad << " at " << place << " of " << count;
        values[place] = kMax;
        EXPECT_TRUE(AllFinite(values));
      }
    }
  }
}

}  // namespace
}  // namespace cairn::nn

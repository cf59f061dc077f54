#include "common/simd.h"

#include <gtest/gtest.h>

#include <vector>

namespace cairn {
namespace {

CAIRN_SIMD void Scale(float factor, const float* in, float* out, int count) {
  for (int i = 0; i < count; ++i) out[i] = factor * in[i];
}

TEST(SimdTest, TheSelectedVersionComputesTheSame) {
  for (int count : {0, 1, 7, 16, 17, 1000}) {
    std::vector<float> in(count), out(count), expected(count);
    for (int i = 0; i < count; ++i) {
      in[i] = 0.5f * i;
      expected[i] = 1.5f * i;
    }
    Scale(3.0f, in.data(), out.data(), count);
    EXPECT_EQ(out, expected);
  }
}

}  // namespace
}  // namespace cairn

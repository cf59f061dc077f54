#include "nn/precision.h"

#include <gtest/gtest.h>

namespace cairn::nn {
namespace {

TEST(PrecisionTest, EveryWordHasItsPrecision) {
  EXPECT_EQ(FindPrecision("float32"), Precision::kFloat32);
  EXPECT_EQ(FindPrecision("tensorfloat32"), Precision::kTensorFloat32);
  EXPECT_EQ(FindPrecision("mixed_bfloat16"), Precision::kBfloat16);
  EXPECT_EQ(FindPrecision("mixed_float16"), Precision::kFloat16);
  EXPECT_EQ(PrecisionWords().size(), 4);
  for (const char* word : {"", "float16", "Float32", "mixed_bfloat"}) {
    EXPECT_EQ(FindPrecision(word), std::nullopt) << word;
  }
}

}  // namespace
}  // namespace cairn::nn

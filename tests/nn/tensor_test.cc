#include "nn/tensor.h"

#include "gtest/gtest.h"

namespace cairn::nn {
namespace {

TEST(TensorTest, AScalarHasOneElement) {
  EXPECT_EQ(ElementCount({}), 1);
  EXPECT_EQ(*CheckedElementCount({}), 1);
}

TEST(TensorTest, ElementsAreTheProductOfDimensions) {
  EXPECT_EQ(ElementCount({28, 28, 3}), 2352);
  EXPECT_EQ(*CheckedElementCount({28, 28, 3}), 2352);
}

TEST(TensorTest, AShapeThatOverflowsIsRefused) {
  EXPECT_FALSE(CheckedElementCount({int64_t{1} << 32, int64_t{1} << 32}).ok());
  EXPECT_FALSE(CheckedElementCount({kTensorElementsMax, 2}).ok());
  EXPECT_TRUE(CheckedElementCount({kTensorElementsMax / 2, 2}).ok());
}

TEST(TensorTest, ADimensionThatIsNotPositiveIsRefused) {
  EXPECT_FALSE(CheckedElementCount({3, 0}).ok());
  EXPECT_FALSE(CheckedElementCount({-1}).ok());
}

TEST(TensorTest, ShapesArePrintedAsPythonDoes) {
  EXPECT_EQ(ShapeText({}), "()");
  EXPECT_EQ(ShapeText({7}), "(7,)");
  EXPECT_EQ(ShapeText({28, 28}), "(28, 28)");
}

}  // namespace
}  // namespace cairn::nn

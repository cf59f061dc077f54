#include "nn/formats/onnx_value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/formats/onnx_constant.h"

namespace cairn::nn {
namespace {

using ::testing::ElementsAre;
using Axes = std::vector<std::vector<int>>;

TEST(OnnxValueTest, AnImageHasItsChannelsAfterTheBatch) {
  const OnnxValue value = ChannelsFirst(3, {5, 4, 2});
  EXPECT_EQ(value.axes, (Axes{{0}, {3}, {1}, {2}}));
  EXPECT_THAT(value.shape(), ElementsAre(kOnnxBatch, 2, 5, 4));
  EXPECT_EQ(value.batch_axis(), 0);
}

TEST(OnnxValueTest, AxesAreJoinedAndDividedWithoutALayer) {
  const OnnxValue image = ChannelsFirst(3, {5, 4, 6});
  const auto flat = Regrouped(image, {kOnnxBatch, 120});
  ASSERT_TRUE(flat.has_value());
  EXPECT_EQ(flat->axes, (Axes{{0}, {3, 1, 2}}));
  // Groups of channels: the last factor becomes two.
  const auto groups = Regrouped(*flat, {kOnnxBatch, 2, 1, 3, 20});
  ASSERT_TRUE(groups.has_value());
  EXPECT_THAT(groups->sizes, ElementsAre(5, 4, 2, 3));
  EXPECT_EQ(groups->axes, (Axes{{0}, {3}, {}, {4}, {1, 2}}));
  // Every example's rows in one axis.
  const auto rows = Regrouped(WholeValue(0, {3, 4}), {kOnnxBatch * 3, 4});
  ASSERT_TRUE(rows.has_value());
  EXPECT_EQ(rows->axes, (Axes{{0, 1}, {2}}));
  EXPECT_EQ(rows->batch_axis(), -1);
}

TEST(OnnxValueTest, OtherShapesAreNoView) {
  EXPECT_FALSE(Regrouped(WholeValue(0, {4, 6}), {kOnnxBatch, 6, 4}).has_value());
  EXPECT_FALSE(Regrouped(WholeValue(0, {4}), {kOnnxBatch, 5}).has_value());
  EXPECT_FALSE(Regrouped(WholeValue(0, {4}), {kOnnxBatch}).has_value());
  EXPECT_FALSE(Regrouped(WholeValue(0, {4}), {kOnnxBatch, 0}).has_value());
  EXPECT_FALSE(Regrouped(WholeValue(0, {4}), {kOnnxBatch, -4}).has_value());
  EXPECT_FALSE(Regrouped(WholeValue(0, {4}), {4, kOnnxBatch}).has_value());
}

TEST(OnnxValueTest, AReversedAxisStaysWhole) {
  OnnxValue value = WholeValue(0, {4, 6});
  value.reversed = 1;
  const auto longer = Regrouped(value, {kOnnxBatch, 4, 2, 3});
  ASSERT_TRUE(longer.has_value());
  EXPECT_EQ(longer->reversed, 1);
  EXPECT_FALSE(Regrouped(value, {kOnnxBatch, 2, 2, 6}).has_value());
}

TEST(OnnxValueTest, AReshapeCopiesAndCompletesSizes) {
  const OnnxValue value = WholeValue(0, {4, 6});
  EXPECT_THAT(ReshapeTargets(value, {0, -1}, 0), ElementsAre(ElementsAre(kOnnxBatch, 24)));
  EXPECT_THAT(ReshapeTargets(value, {-1, 24}, 0), ElementsAre(ElementsAre(kOnnxBatch, 24)));
  EXPECT_THAT(ReshapeTargets(value, {-1, 7}, 0), ElementsAre());
  EXPECT_THAT(ReshapeTargets(value, {-1, 0, 6}, 0), ElementsAre(ElementsAre(kOnnxBatch, 4, 6)));
  EXPECT_THAT(ReshapeTargets(value, {5, 6}, 0), ElementsAre());
}

// A file for one example says 1 where it means the batch.
TEST(OnnxValueTest, AFixedBatchMayStandForAnyBatch) {
  const OnnxValue value = WholeValue(0, {4, 6});
  EXPECT_THAT(ReshapeTargets(value, {1, -1}, 1)[0], ElementsAre(kOnnxBatch, 24));
  EXPECT_THAT(ReshapeTargets(value, {8, 24}, 8)[0], ElementsAre(kOnnxBatch, 24));
  EXPECT_THAT(ReshapeTargets(value, {32, 6}, 8)[0], ElementsAre(4 * kOnnxBatch, 6));
}

}  // namespace
}  // namespace cairn::nn

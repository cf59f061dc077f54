#include "nn/layers/window.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "gtest/gtest.h"
#include "proto/model.pb.h"

namespace cairn::nn {
namespace {

// The window that a convolution of these arguments has over an image of height x width.
Window WindowOf(const std::string& arguments, int64_t height, int64_t width) {
  proto::LayerSpec spec;
  EXPECT_TRUE(
      google::protobuf::util::JsonStringToMessage("{" + arguments + "}", spec.mutable_config())
          .ok());
  LayerConfig config(spec, {});
  const Window window =
      ReadWindow({.size_argument = "kernel_size", .dilates = true}, {height, width, 1}, config);
  EXPECT_TRUE(config.Finish().ok()) << config.Finish();
  return window;
}

using Pair = std::array<int64_t, 2>;

// The expected numbers are TensorFlow's.
TEST(WindowTest, ValidPadsNothingAndDropsWhatIsLeftOver) {
  const Window window = WindowOf(R"("kernel_size": [3, 2], "strides": [2, 3])", 8, 7);
  EXPECT_EQ(window.output, Pair({3, 2}));
  EXPECT_EQ(window.padding_before, Pair({0, 0}));
  EXPECT_EQ(window.padding_after, Pair({0, 0}));
}

TEST(WindowTest, SamePadsTheSmallerHalfFirst) {
  const Window window = WindowOf(R"("kernel_size": [4, 3], "padding": "same")", 5, 5);
  EXPECT_EQ(window.output, Pair({5, 5}));
  EXPECT_EQ(window.padding_before, Pair({1, 1}));
  EXPECT_EQ(window.padding_after, Pair({2, 1}));
}

TEST(WindowTest, SameWithStridesPadsOnlyWhatIsNeeded) {
  const Window window = WindowOf(R"("kernel_size": 3, "strides": [2, 4], "padding": "same")", 6, 8);
  EXPECT_EQ(window.output, Pair({3, 2}));
  EXPECT_EQ(window.padding_before, Pair({0, 0}));
  EXPECT_EQ(window.padding_after, Pair({1, 0}));
}

TEST(WindowTest, DilationWidensTheWindow) {
  const Window window =
      WindowOf(R"("kernel_size": 3, "dilation_rate": [2, 3], "padding": "same")", 9, 9);
  EXPECT_EQ(window.padding_before, Pair({2, 3}));
  EXPECT_EQ(WindowOf(R"("kernel_size": 3, "dilation_rate": 2)", 9, 9).output, Pair({5, 5}));
}

}  // namespace
}  // namespace cairn::nn

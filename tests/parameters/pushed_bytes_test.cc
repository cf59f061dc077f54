#include "parameters/pushed_bytes.h"

#include <gtest/gtest.h>

namespace cairn::parameters {
namespace {

TEST(PushedBytesTest, RoomIsBoundedForEachPeerAndInTotal) {
  const auto bytes = std::make_shared<PushedBytes>(/*max=*/100, /*max_per_peer=*/60);
  auto first = bytes->Reserve("a", 40);
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(bytes->Reserve("a", 30), nullptr) << "its own limit";
  EXPECT_NE(bytes->Reserve("a", 0), nullptr);
  const auto second = bytes->Reserve("b", 60);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(bytes->Reserve("c", 1), nullptr) << "the limit of all";
  EXPECT_EQ(bytes->total(), 100);
  first.reset();
  EXPECT_EQ(bytes->total(), 60);
  EXPECT_NE(bytes->Reserve("a", 30), nullptr);
}

TEST(PushedBytesTest, APushThatIsLargerThanTheLimitGetsRoomAlone) {
  const auto bytes = std::make_shared<PushedBytes>(/*max=*/100, /*max_per_peer=*/60);
  const auto large = bytes->Reserve("a", 1000);
  EXPECT_NE(large, nullptr);
  EXPECT_EQ(bytes->Reserve("b", 1), nullptr);
}

TEST(PushedBytesTest, RoomMayOutliveTheBound) {
  auto bytes = std::make_shared<PushedBytes>(/*max=*/100, /*max_per_peer=*/60);
  const auto room = bytes->Reserve("a", 1);
  bytes.reset();
}

}  // namespace
}  // namespace cairn::parameters

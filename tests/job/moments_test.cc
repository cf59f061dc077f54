#include "job/moments.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace cairn::job {
namespace {

TEST(MomentsTest, EveryPlaceHasItsOwnMeanAndDeviation) {
  Moments moments(2);
  moments.Add({1, 10});
  moments.Add({2, 10, 6, 10});
  const auto result = moments.Result();
  EXPECT_DOUBLE_EQ(result.mean(0), 3);
  EXPECT_DOUBLE_EQ(result.deviation(0), std::sqrt(14.0 / 3));  // (4 + 1 + 9) / 3
  EXPECT_DOUBLE_EQ(result.mean(1), 10);
  EXPECT_DOUBLE_EQ(result.deviation(1), 0);
}

TEST(MomentsTest, ALargeMeanDoesNotHideASmallDeviation) {
  Moments moments(1);
  for (int i = 0; i < 100000; ++i) moments.Add({i % 2 == 0 ? 1000000.0f : 1000001.0f});
  EXPECT_NEAR(moments.Result().mean(0), 1000000.5, 1e-6);
  EXPECT_NEAR(moments.Result().deviation(0), 0.5, 1e-6);
}

TEST(MomentsTest, PartsTogetherAreTheWhole) {
  std::vector<float> values;
  for (int i = 0; i < 600; ++i) values.push_back(std::exp(static_cast<float>(i % 77) - 40));
  Moments whole(3);
  whole.Add(values);
  for (const size_t size : {3, 30, 333}) {
    Moments all(3);
    for (size_t begin = 0; begin < values.size(); begin += size) {
      Moments part(3);
      part.Add(absl::MakeConstSpan(values).subspan(begin, size));
      ASSERT_TRUE(all.Add(part.ToProto()).ok());
    }
    EXPECT_EQ(all.Result().SerializeAsString(), whole.Result().SerializeAsString());
  }
  EXPECT_FALSE(whole.Add(Moments(2).ToProto()).ok());
  proto::Moments forged = Moments(3).ToProto();
  forged.mutable_places(2)->set_count(-1);
  EXPECT_FALSE(whole.Add(forged).ok());
}

TEST(MomentsTest, TheLargestValueIsThatOfAllExamples) {
  Moments moments(2);
  moments.Add({1, 10});
  EXPECT_EQ(moments.largest(), 0);
  moments.Cover({3, -7});
  moments.Cover({5, std::nanf("")});
  EXPECT_EQ(moments.largest(), 7);
  Moments other(2);
  other.Cover({8, 0});
  ASSERT_TRUE(moments.Add(other.ToProto()).ok());
  ASSERT_TRUE(moments.Add(Moments(2).ToProto()).ok());
  EXPECT_EQ(moments.largest(), 8);
  EXPECT_EQ(moments.ToProto().largest(), 8);
  for (const double forged : {-1.0, std::nan("")}) {
    proto::Moments message = other.ToProto();
    message.set_largest(forged);
    EXPECT_FALSE(moments.Add(message).ok());
  }
}

TEST(MomentsTest, WhatIsNotFiniteDoesNotCount) {
  Moments moments(2);
  moments.Add({1, std::nanf(""), 3, std::numeric_limits<float>::infinity()});
  EXPECT_EQ(moments.Result().mean(0), 2);
  EXPECT_EQ(moments.Result().mean(1), 0);
  EXPECT_EQ(moments.Result().deviation(1), 1);
}

}  // namespace
}  // namespace cairn::job

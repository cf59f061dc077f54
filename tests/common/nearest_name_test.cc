#include "common/nearest_name.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

const std::vector<std::string> kKnown = {"sgd", "adam", "adamax", "adagrad"};

TEST(NearestNameTest, ASlipOfTheFingersIsFound) {
  EXPECT_EQ(NearestName("adma", kKnown), "adam");
  EXPECT_EQ(NearestName("adamx", kKnown), "adam");
  EXPECT_EQ(NearestName("adagrd", kKnown), "adagrad");
}

TEST(NearestNameTest, WhatIsFarFromEverythingHasNone) {
  EXPECT_EQ(NearestName("rmsprop", kKnown), "");
  EXPECT_EQ(NearestName("adam", {}), "");
}

TEST(NearestNameTest, TheTextHasTheGuessAndTheList) {
  EXPECT_EQ(KnownNamesText("sgdd", {"sgd", "adam"}), "did you mean 'sgd'? known: sgd, adam");
  EXPECT_EQ(KnownNamesText("frobnicate", {"sgd", "adam"}), "known: sgd, adam");
}

}  // namespace
}  // namespace cairn

#include "common/check.h"

#include <gtest/gtest.h>

namespace cairn {
namespace {

TEST(CheckTest, ATrueConditionIsEvaluatedOnce) {
  int evaluated = 0;
  CAIRN_CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeathTest, AFalseConditionAbortsWithLocationAndCondition) {
  const int two = 2;
  EXPECT_DEATH(CAIRN_CHECK(two + two == 5), "check_test.cc:[0-9]+: check failed: two \\+ two == 5");
}

}  // namespace
}  // namespace cairn

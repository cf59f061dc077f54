#include "nn/variable_spec.h"

#include <gtest/gtest.h>

namespace cairn::nn {
namespace {

TEST(VariableSpecTest, CountsTheProductOfItsDimensions) {
  EXPECT_EQ((VariableSpec{.shape = {3, 3, 32, 64}}.element_count()), 18432);
}

TEST(VariableSpecTest, AScalarHasOneElement) { EXPECT_EQ(VariableSpec{}.element_count(), 1); }

TEST(VariableSpecTest, CountsBeyondThirtyTwoBits) {
  EXPECT_EQ((VariableSpec{.shape = {100000, 100000}}.element_count()), 10000000000);
}

}  // namespace
}  // namespace cairn::nn

#include "common/plural.h"

#include "gtest/gtest.h"

namespace cairn {
namespace {

TEST(PluralTest, OnlyOneIsSingular) {
  EXPECT_EQ(Plural(0, "worker"), "0 workers");
  EXPECT_EQ(Plural(1, "worker"), "1 worker");
  EXPECT_EQ(Plural(2, "worker"), "2 workers");
}

}  // namespace
}  // namespace cairn

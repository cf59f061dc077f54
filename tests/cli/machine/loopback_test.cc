#include "cli/machine/loopback.h"

#include <sys/resource.h>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

TEST(LoopbackTest, PortsAreCountedAndOneIsTried) {
  const Check check = CheckLoopback(5);
  EXPECT_EQ(check.level, Check::Level::kOk) << check.found;
  EXPECT_THAT(check.found, HasSubstr("5 ports are free on 127.0.0.1"));
}

TEST(LoopbackTest, WithoutSocketsThereIsNoCluster) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Check check = CheckLoopback(5);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(check.level, Check::Level::kFail);
  EXPECT_THAT(check.found, HasSubstr("127.0.0.1"));
}

}  // namespace
}  // namespace cairn::cli

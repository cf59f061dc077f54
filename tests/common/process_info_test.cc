#include "common/process_info.h"

#include <sys/utsname.h>

#include <vector>

#include "gtest/gtest.h"

namespace cairn {
namespace {

TEST(ProcessInfoTest, TouchedMemoryIsCounted) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  const int64_t before = ResidentMemoryBytes();
  EXPECT_GT(before, 0);
  const std::vector<char> memory(kBytes, 'x');
  // Memory that other code frees meanwhile is negligible.
  EXPECT_GT(ResidentMemoryBytes(), before + kBytes / 2 + memory[0] - 'x');
}

TEST(ProcessInfoTest, HostNameIsTheKernels) {
  utsname names{};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(HostName(), names.nodename);
}

}  // namespace
}  // namespace cairn

#include "common/process_info.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

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

TEST(ProcessInfoTest, TheMemoryLimitIsTheLowestOne) {
  const int64_t machine = sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
  const int64_t limit = MemoryLimitBytes();
  EXPECT_GT(limit, 0);
  EXPECT_LE(limit, machine);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = limit - 4096;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &lower), 0);
  EXPECT_EQ(MemoryLimitBytes(), limit - 4096);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
}

TEST(ProcessInfoTest, AnAddressSpaceThatIsTooSmallIsNamed) {
#if defined(__SANITIZE_ADDRESS__) || defined(CAIRN_THREAD_SANITIZER)
  GTEST_SKIP() << "a sanitizer reserves terabytes of the address space";
#endif
  EXPECT_TRUE(CheckAddressSpace().ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  rlimit lower = before;
  lower.rlim_cur = kAddressSpaceMin;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &lower), 0);
  EXPECT_TRUE(CheckAddressSpace().ok());
  lower.rlim_cur = kAddressSpaceMin - (1 << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &lower), 0);
  const absl::Status status = CheckAddressSpace();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(status, absl::FailedPreconditionError(
                        "the limit of the address space is 2047 MiB (ulimit -v), at least 2048 MiB "
                        "are needed; raise it: ulimit -v unlimited, or systemd's "
                        "LimitAS=infinity"));
}

TEST(ProcessInfoTest, HostNameIsTheKernels) {
  utsname names{};
  ASSERT_EQ(uname(&names), 0);
  EXPECT_EQ(HostName(), names.nodename);
}

}  // namespace
}  // namespace cairn

// That the sanitizers of --config=asan, tsan and ubsan are at work: each finds what was made for
// it. Without one of them there is nothing to find, and no test here.

#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <thread>

namespace cairn {
namespace {

#if defined(__SANITIZE_ADDRESS__)
TEST(SanitizerTest, AddressSanitizerFindsAReadAfterDelete) {
  const auto read = [] {
    volatile int* number = new int(1);
    delete number;
    return *number;
  };
  EXPECT_DEATH(std::exit(read()), "heap-use-after-free");
}
#endif

#if defined(CAIRN_UNDEFINED_SANITIZER)
TEST(SanitizerTest, UndefinedBehaviorSanitizerFindsOverflows) {
  volatile int largest = INT_MAX;
  EXPECT_DEATH(std::exit(largest + largest), "signed integer overflow");
  volatile float large = 1e20f;
  EXPECT_DEATH(std::exit(static_cast<int>(large)), "outside the range");
}
#endif

#if defined(CAIRN_THREAD_SANITIZER)
TEST(SanitizerTest, ThreadSanitizerFindsARace) {
  const auto race = [] {
    int shared = 0;
    std::thread other([&] { ++shared; });
    ++shared;
    other.join();
    std::exit(0);  // Which thread sanitizer turns into its own code.
  };
  EXPECT_EXIT(race(), ::testing::ExitedWithCode(66), "data race");
}
#endif

}  // namespace
}  // namespace cairn

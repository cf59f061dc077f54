#include "tests/common/no_more_threads.h"

#include <unistd.h>

#include <cstddef>
#include <fstream>

#include "common/check.h"

namespace cairn::testing {
namespace {

constexpr size_t kStackBytes = size_t{512} << 20;
constexpr size_t kLeftBytes = size_t{960} << 20;

// The size of the process's address space.
size_t UsedBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  CAIRN_CHECK(pages > 0);
  return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace

NoMoreThreads::NoMoreThreads() {
  CAIRN_CHECK(pthread_getattr_default_np(&threads_before_) == 0);
  pthread_attr_t threads;
  CAIRN_CHECK(pthread_attr_init(&threads) == 0);
  CAIRN_CHECK(pthread_attr_setstacksize(&threads, kStackBytes) == 0);
  CAIRN_CHECK(pthread_setattr_default_np(&threads) == 0);
  pthread_attr_destroy(&threads);
  CAIRN_CHECK(getrlimit(RLIMIT_AS, &memory_before_) == 0);
  rlimit memory = memory_before_;
  memory.rlim_cur = UsedBytes() + kLeftBytes;
  CAIRN_CHECK(setrlimit(RLIMIT_AS, &memory) == 0);
}

NoMoreThreads::~NoMoreThreads() {
  setrlimit(RLIMIT_AS, &memory_before_);
  pthread_setattr_default_np(&threads_before_);
  pthread_attr_destroy(&threads_before_);
}

}  // namespace cairn::testing

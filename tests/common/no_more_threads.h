#ifndef CAIRN_TESTS_COMMON_NO_MORE_THREADS_H_
#define CAIRN_TESTS_COMMON_NO_MORE_THREADS_H_

#include <pthread.h>
#include <sys/resource.h>

namespace cairn::testing {

// While it lives, the system gives this process one thread at most: a thread's stack is larger than
// half of the address space that is left. For a test's only thread.
class NoMoreThreads {
 public:
  NoMoreThreads();
  ~NoMoreThreads();
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  pthread_attr_t threads_before_;
  rlimit memory_before_;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_COMMON_NO_MORE_THREADS_H_

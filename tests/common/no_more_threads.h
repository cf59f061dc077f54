#ifndef CAIRN_TESTS_COMMON_NO_MORE_THREADS_H_
#define CAIRN_TESTS_COMMON_NO_MORE_THREADS_H_

#include <pthread.h>
#include <sys/resource.h>

namespace cairn::testing {

// While an instance exists, the process can create at most one more thread: the address space is
// limited so that a second stack does not fit. For tests with a single thread.
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

#ifndef CAIRN_COMMON_CHECK_H_
#define CAIRN_COMMON_CHECK_H_

#include <cstdio>
#include <cstdlib>

// CAIRN_CHECK(condition) states an invariant that only a programming error can break. It is active
// in every build, and prints the location and the condition and aborts if the condition is false.
// Errors that input, peers or the operating system can cause are reported as absl::Status instead.
#define CAIRN_CHECK(condition)                                                           \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#endif  // CAIRN_COMMON_CHECK_H_

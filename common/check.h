#ifndef CAIRN_COMMON_CHECK_H_
#define CAIRN_COMMON_CHECK_H_

#include <cstdio>
#include <cstdlib>

// CAIRN_CHECK(condition): what only a programmer can get wrong. Stays on in every build; prints the
// place and the condition and aborts. What the world can get wrong is an absl::Status instead.
#define CAIRN_CHECK(condition)                                                           \
  do {                                                                                   \
    if (!(condition)) [[unlikely]] {                                                     \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                      \
    }                                                                                    \
  } while (false)

#endif  // CAIRN_COMMON_CHECK_H_

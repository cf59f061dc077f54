#ifndef CAIRN_TESTS_COMMON_FREE_PORT_H_
#define CAIRN_TESTS_COMMON_FREE_PORT_H_

namespace cairn::testing {

// A port of 127.0.0.1 that nobody listens on, outside the range that systems give to outgoing
// connections. No other caller gets it, in this process or another, before this process ends:
// servers on it may be stopped and started again. Thread-safe.
int FreePort();

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_COMMON_FREE_PORT_H_

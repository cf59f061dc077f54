#ifndef CAIRN_TESTS_COMMON_FREE_PORT_H_
#define CAIRN_TESTS_COMMON_FREE_PORT_H_

namespace cairn::testing {

// A port of 127.0.0.1 on which nothing listens, outside the ephemeral port range. No other caller
// in any process gets it before this process ends, so servers may be stopped and restarted on it.
// Thread-safe.
int FreePort();

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_COMMON_FREE_PORT_H_

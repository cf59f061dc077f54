#ifndef CAIRN_TESTS_CLUSTER_ASK_H_
#define CAIRN_TESTS_CLUSTER_ASK_H_

#include <string>

namespace cairn::testing {

// Calls a method ("/package.Service/Method") of the server on this port of loopback with `request`
// and returns the first reply, both in protobuf's wire format. Fails the test if there is none.
std::string Ask(int port, const std::string& method, const std::string& request);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_CLUSTER_ASK_H_

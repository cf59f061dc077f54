#ifndef CAIRN_TESTS_CLUSTER_ASK_H_
#define CAIRN_TESTS_CLUSTER_ASK_H_

#include <string>

namespace cairn::testing {

// The first answer of a method ("/package.Service/Method") of the server on this port of loopback
// to `request`, both as bytes of protobuf's wire format. Fails the test if there is none.
std::string Ask(int port, const std::string& method, const std::string& request);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_CLUSTER_ASK_H_

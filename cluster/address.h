#ifndef CAIRN_CLUSTER_ADDRESS_H_
#define CAIRN_CLUSTER_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cairn::cluster {

// Where a task listens: HOST:PORT, or [IPV6]:PORT.
struct Address {
  std::string host;  // Without brackets.
  uint16_t port = 0;

  // The form that it was parsed from.
  std::string ToString() const;
  bool operator==(const Address&) const = default;
};

// InvalidArgument says what is wrong with `text`: no port, a bad port (1 to 65535; 0 only if
// `allow_port_zero`), no host, an IPv6 address without brackets, a scheme, blanks.
absl::StatusOr<Address> ParseAddress(std::string_view text, bool allow_port_zero = false);

// Whether only this machine reaches what listens there: localhost, 127.x.x.x, ::1.
bool IsLoopback(const Address& address);

// What a daemon binds: the host of its own address, so that it listens on the interface that others
// know it by and on no other: loopback for localhost (127.0.0.1), 127.x.x.x and ::1. 0.0.0.0 and
// [::] mean every interface.
std::string BindAddress(const Address& own);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_ADDRESS_H_

#ifndef CAIRN_CLUSTER_ADDRESS_H_
#define CAIRN_CLUSTER_ADDRESS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace cairn::cluster {

// The address of a task: HOST:PORT or [IPV6]:PORT.
struct Address {
  std::string host;  // Without brackets.
  uint16_t port = 0;

  // Formats the address as ParseAddress reads it.
  std::string ToString() const;
  bool operator==(const Address&) const = default;
};

// Parses HOST:PORT. InvalidArgument, with the reason and the expected form: no port, a port outside
// of 1 to 65535 (0 is allowed with `allow_port_zero`), no host, an IPv6 address without brackets, a
// URL scheme, or spaces.
absl::StatusOr<Address> ParseAddress(std::string_view text, bool allow_port_zero = false);

// Whether the address is reachable only from this machine: localhost, 127.0.0.0/8 or ::1.
bool IsLoopback(const Address& address);

// The address that a daemon with this address listens on. It binds only the interface of its own
// host name, and loopback for a loopback address (127.0.0.1 for localhost). 0.0.0.0 and [::] bind
// all interfaces.
std::string BindAddress(const Address& own);

}  // namespace cairn::cluster

#endif  // CAIRN_CLUSTER_ADDRESS_H_

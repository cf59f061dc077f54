#ifndef CAIRN_CLI_DRILL_FAULT_PROXY_H_
#define CAIRN_CLI_DRILL_FAULT_PROXY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace cairn::cli {

// What happens to the bytes that a link carries in one direction.
struct LinkFault {
  enum class Kind {
    kNone,
    kHold,     // They wait until the fault ends, as behind a network that loses all packets.
    kDrop,     // They vanish. The connection ends with the fault.
    kClose,    // Connections are reset, and so are new ones. Applies to both directions.
    kDelay,    // They arrive `amount` seconds later.
    kSlow,     // At most `amount` bytes per second arrive.
    kCorrupt,  // Every `amount` seconds, one bit of the bytes that pass is inverted.
  };
  Kind kind = Kind::kNone;
  double amount = 0;
};

// Forwards TCP connections between tasks of this machine, and disturbs them. Thread-safe.
//
//   FaultProxy proxy;
//   CAIRN_ASSIGN_OR_RETURN(const FaultProxy::Link link, proxy.AddLink("127.0.0.1:4000"));
//   ... a client connects to link.address ...
//   proxy.SetFault(link.id, {LinkFault::Kind::kHold}, {LinkFault::Kind::kHold});
class FaultProxy {
 public:
  struct Link {
    int id = 0;
    std::string address;  // Connections to it are forwarded.
  };

  FaultProxy();
  // Closes all connections.
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  // A new link to the listener at `target`, 127.0.0.1:PORT, which need not be there yet. The link
  // accepts connections at a free port.
  absl::StatusOr<Link> AddLink(const std::string& target);

  // Replaces the faults of a link: of the bytes to the target, and of those from it.
  void SetFault(int link, const LinkFault& to, const LinkFault& from);

  // How often the faults of all links have taken effect so far: the bytes held, dropped, delayed
  // and slowed down, the bits inverted, the connections reset.
  int64_t effects() const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace cairn::cli

#endif  // CAIRN_CLI_DRILL_FAULT_PROXY_H_

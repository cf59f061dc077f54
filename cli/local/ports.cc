#include "cli/local/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <set>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"

namespace cairn::cli {
namespace {

constexpr int kTriesMax = 1000;

// Listening sockets, which reserve their ports until all are chosen.
class HeldPorts {
 public:
  HeldPorts() = default;
  HeldPorts(const HeldPorts&) = delete;
  HeldPorts& operator=(const HeldPorts&) = delete;
  ~HeldPorts() {
    for (int socket : sockets_) close(socket);
  }

  // Port 0 is any free port. Returns the port, or 0 with errno set.
  int Hold(int port) {
    const int held = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (held < 0) return 0;
    sockets_.push_back(held);
    const int yes = 1;
    setsockopt(held, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    socklen_t length = sizeof(address);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(held, generic, length) != 0 || listen(held, 1) != 0) return 0;
    if (getsockname(held, generic, &length) != 0) return 0;
    return ntohs(address.sin_port);
  }

 private:
  std::vector<int> sockets_;
};

// The ports that this process has chosen. The name of an abstract socket belongs to one process, as
// long as that lives: another `cairn` does not choose a port on which a daemon of this one will
// listen, also while the daemon is started again.
class ClaimedPorts {
 public:
  // `again`: a port that this process has claimed before counts as claimed now.
  bool Claim(int port, bool again) {
    MutexLock lock(&mutex_);
    if (ports_.contains(port)) return again;
    if (!ClaimName(absl::StrCat("cairn-port-", port))) return false;
    ports_.insert(port);
    return true;
  }

 private:
  // Where there are no such names, every port is free.
  static bool ClaimName(const std::string& name) {
    const int claim = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (claim < 0) return true;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    // After a zero byte, which makes it abstract.
    std::copy(name.begin(), name.end(), address.sun_path + 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (bind(claim, reinterpret_cast<sockaddr*>(&address), length) == 0) return true;
    const bool is_taken = errno == EADDRINUSE;
    close(claim);
    return !is_taken;
  }

  Mutex mutex_;
  std::set<int> ports_ ABSL_GUARDED_BY(mutex_);
};

ClaimedPorts& Claimed() {
  static ClaimedPorts* const ports = new ClaimedPorts;
  return *ports;
}

int PortOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  return colon == std::string::npos ? 0 : std::atoi(address.c_str() + colon + 1);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ChooseAddresses(const std::vector<std::string>& wanted,
                                                         int count) {
  HeldPorts held;
  std::vector<std::string> addresses;
  for (int i = 0; i < count; ++i) {
    int port = i < static_cast<int>(wanted.size()) ? PortOf(wanted[i]) : 0;
    if (port > 0) port = held.Hold(port);
    if (port > 0 && !Claimed().Claim(port, /*again=*/true)) port = 0;
    // A port that another process has claimed stays held, so the next one is different.
    for (int tries = 0; port <= 0 && tries < kTriesMax; ++tries) {
      port = held.Hold(0);
      if (port <= 0) break;
      if (!Claimed().Claim(port, /*again=*/false)) port = 0;
    }
    if (port <= 0) return absl::ErrnoToStatus(errno, "cannot find a free port on 127.0.0.1");
    addresses.push_back(absl::StrCat("127.0.0.1:", port));
  }
  return addresses;
}

}  // namespace cairn::cli

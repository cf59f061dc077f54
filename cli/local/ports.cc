#include "cli/local/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/str_cat.h"

namespace cairn::cli {
namespace {

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
    if (port <= 0) port = held.Hold(0);
    if (port <= 0) return absl::ErrnoToStatus(errno, "cannot find a free port on 127.0.0.1");
    addresses.push_back(absl::StrCat("127.0.0.1:", port));
  }
  return addresses;
}

}  // namespace cairn::cli

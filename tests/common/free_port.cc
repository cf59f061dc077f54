#include "tests/common/free_port.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <string>

namespace cairn::testing {
namespace {

constexpr int kFirst = 10000;
constexpr int kCount = 20000;

// Claims the port for the rest of the process. Returns false if another process has claimed it.
bool Reserve(int port) {
  const std::string name = "cairn-test-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A name in the abstract namespace (it begins with a zero byte): it is in no directory and is
  // released with its process.
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), length) == 0) return true;
  close(descriptor);
  return false;
}

bool NobodyListensOn(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int result = bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  close(descriptor);
  return result == 0;
}

}  // namespace

int FreePort() {
  std::random_device random;
  while (true) {
    const int port = kFirst + static_cast<int>(random() % kCount);
    if (Reserve(port) && NobodyListensOn(port)) return port;
  }
}

}  // namespace cairn::testing

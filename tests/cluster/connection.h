#ifndef CAIRN_TESTS_CLUSTER_CONNECTION_H_
#define CAIRN_TESTS_CLUSTER_CONNECTION_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>

namespace cairn::testing {

// A raw TCP connection to a port of this machine.
class Connection {
 public:
  Connection() : descriptor_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  ~Connection() { close(descriptor_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool ConnectTo(int port) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    return connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }

  // Reads and discards data until the peer closes the connection, for at most `timeout`. Returns
  // whether it has.
  bool IsClosedByPeer(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) {
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (true) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      pollfd polled = {descriptor_, POLLIN, 0};
      if (poll(&polled, 1, left.count() > 0 ? static_cast<int>(left.count()) : 0) == 0)
        return false;
      char bytes[256];
      if (recv(descriptor_, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0) return true;
    }
  }

 private:
  const int descriptor_;
};

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_CLUSTER_CONNECTION_H_

#include "tests/cluster/stalling_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>

#include "common/check.h"

namespace cairn::testing {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

}  // namespace

StallingProxy::StallingProxy(int target_port) : target_port_(target_port) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in address = Loopback(0);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  CAIRN_CHECK(bind(listener_, generic, length) == 0 && listen(listener_, 64) == 0);
  CAIRN_CHECK(getsockname(listener_, generic, &length) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Run(); });
}

StallingProxy::~StallingProxy() {
  stopping_ = true;
  thread_.join();
  while (!directions_.empty()) Close(directions_.front().from);
  close(listener_);
}

// Polls every millisecond, which is fast enough for a test.
void StallingProxy::Run() {
  while (!stopping_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (stalled_) continue;
    Accept();
    for (size_t i = 0; i < directions_.size();) {
      if (Move(&directions_[i])) {
        ++i;
      } else {
        Close(directions_[i].from);
        i = 0;
      }
    }
  }
}

void StallingProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (client < 0) return;
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = Loopback(target_port_);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(client);
    close(server);
    return;
  }
  directions_.push_back({client, server, ""});
  directions_.push_back({server, client, ""});
}

bool StallingProxy::Move(Direction* direction) {
  constexpr size_t kHeldMax = 1 << 20;
  if (direction->bytes.size() < kHeldMax) {
    char buffer[1 << 16];
    const ssize_t received = recv(direction->from, buffer, sizeof(buffer), MSG_DONTWAIT);
    if (received == 0 || (received < 0 && errno != EAGAIN)) return false;
    if (received > 0) direction->bytes.append(buffer, static_cast<size_t>(received));
  }
  if (direction->bytes.empty()) return true;
  const ssize_t sent = send(direction->to, direction->bytes.data(), direction->bytes.size(),
                            MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN) return false;
  if (sent > 0) direction->bytes.erase(0, static_cast<size_t>(sent));
  return true;
}

// Closes the connection to which the socket belongs.
void StallingProxy::Close(int from) {
  std::erase_if(directions_, [from](const Direction& direction) {
    if (direction.from != from && direction.to != from) return false;
    // Each socket of a connection is closed once: it is `from` in one direction.
    close(direction.from);
    return true;
  });
}

}  // namespace cairn::testing

#include "collectives/socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/status_macros.h"

namespace cairn::collectives {
namespace {

absl::Status Gone(int error) {
  return absl::UnavailableError(error == 0 ? "the connection was closed" : std::strerror(error));
}

// Waits for `events`; false after `deadline`.
bool WaitFor(int descriptor, short events, absl::Time deadline) {
  while (true) {
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left < 0) return false;
    pollfd entry = {descriptor, events, 0};
    const int ready = poll(&entry, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX - 1) + 1));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

absl::StatusOr<Socket> ConnectTo(const addrinfo& where, absl::Time deadline) {
  Socket socket(::socket(where.ai_family, where.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                         where.ai_protocol));
  if (!socket.is_open()) return Gone(errno);
  if (connect(socket.descriptor(), where.ai_addr, where.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return Gone(errno);
    if (!WaitFor(socket.descriptor(), POLLOUT, deadline)) return Gone(ETIMEDOUT);
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return Gone(error);
  }
  const int on = 1;
  setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return socket;
}

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this == &other) return *this;
  Close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

void Socket::Close() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

void Socket::SetBufferSizes(int bytes) {
  setsockopt(descriptor_, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
}

absl::StatusOr<Socket> Socket::Connect(const cluster::Address& address, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), absl::StrCat(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return absl::UnavailableError(
        absl::StrCat("the host name ", address.host, " cannot be resolved: ", gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
  absl::StatusOr<Socket> socket = Gone(EHOSTUNREACH);
  for (const addrinfo* where = found; where != nullptr && !socket.ok(); where = where->ai_next) {
    socket = ConnectTo(*where, deadline);
  }
  return socket;
}

absl::StatusOr<size_t> Socket::SendSome(const void* data, size_t bytes) {
  const ssize_t sent = send(descriptor_, data, bytes, MSG_NOSIGNAL);
  if (sent >= 0) return static_cast<size_t>(sent);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  return Gone(errno);
}

absl::StatusOr<size_t> Socket::ReceiveSome(void* data, size_t bytes) {
  const ssize_t received = recv(descriptor_, data, bytes, 0);
  if (received > 0) return static_cast<size_t>(received);
  if (received == 0) return Gone(0);
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return 0;
  return Gone(errno);
}

absl::Status Socket::SendAll(const void* data, size_t bytes, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    CAIRN_ASSIGN_OR_RETURN(const size_t sent, SendSome(at, bytes));
    at += sent;
    bytes -= sent;
    if (bytes > 0 && sent == 0 && !WaitFor(descriptor_, POLLOUT, deadline)) {
      return absl::DeadlineExceededError("the peer does not read");
    }
  }
  return absl::OkStatus();
}

absl::Status Socket::ReceiveAll(void* data, size_t bytes, absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  char* at = static_cast<char*>(data);
  while (bytes > 0) {
    CAIRN_ASSIGN_OR_RETURN(const size_t received, ReceiveSome(at, bytes));
    at += received;
    bytes -= received;
    if (bytes > 0 && received == 0 && !WaitFor(descriptor_, POLLIN, deadline)) {
      return absl::DeadlineExceededError("the peer does not answer");
    }
  }
  return absl::OkStatus();
}

}  // namespace cairn::collectives

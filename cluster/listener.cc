#include "cluster/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cluster/address.h"
#include "common/check.h"
#include "common/logging.h"
#include "common/status_macros.h"

namespace cairn::cluster {
namespace {

// The kernel limits it to net.core.somaxconn, 4096 by default.
constexpr int kBacklog = 4096;
// A connection breaks if sent data are not acknowledged for this long. gRPC's keepalive
// does not detect this while data are waiting to be sent.
constexpr unsigned kUnacknowledgedMillisecondsMax = 10000;
// File descriptors that connections must leave free: a quarter of the limit, and at most this many.
constexpr int kReservedDescriptorsMax = 64;
constexpr auto kPauseAfterFailure = std::chrono::milliseconds(100);
constexpr auto kWarningInterval = std::chrono::seconds(10);

int64_t DescriptorLimit() {
  rlimit limit = {};
  CAIRN_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  return static_cast<int64_t>(std::min<rlim_t>(limit.rlim_cur, INT32_MAX));
}

// A new descriptor gets the lowest free number, so all lower ones are in use.
bool IsReserved(int descriptor) {
  const int64_t limit = DescriptorLimit();
  return descriptor >= limit - std::min<int64_t>(kReservedDescriptorsMax, limit / 4);
}

absl::Status CannotListen(const Address& address, std::string_view why) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address.ToString(), ": ", std::string(why)));
}

absl::Status BindError(const Address& address, int error) {
  if (error != EADDRINUSE) return CannotListen(address, std::strerror(error));
  return absl::AlreadyExistsError(
      absl::StrCat("cannot listen on ", address.ToString(),
                   ": another process uses the port; stop it or choose another port"));
}

// Returns a listening socket, or -errno. If `*port` is 0, sets it to the bound port.
int Bind(const addrinfo& where, uint16_t* port) {
  const int handle =
      socket(where.ai_family, where.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, where.ai_protocol);
  if (handle < 0) return -errno;
  const int on = 1;
  const int off = 0;
  setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Accept IPv4 connections on [::] too.
  if (where.ai_family == AF_INET6) {
    setsockopt(handle, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  sockaddr_storage address = {};
  std::memcpy(&address, where.ai_addr, where.ai_addrlen);
  // The port has the same offset in sockaddr_in and sockaddr_in6.
  auto* const in = reinterpret_cast<sockaddr_in*>(&address);
  in->sin_port = htons(*port);
  socklen_t length = where.ai_addrlen;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(handle, generic, length) != 0 || listen(handle, kBacklog) != 0 ||
      getsockname(handle, generic, &length) != 0) {
    const int error = errno;
    close(handle);
    return -error;
  }
  *port = ntohs(in->sin_port);
  return handle;
}

// Sets the options of an accepted connection: no delay for small messages, and detection of dead
// peers.
void SetOptions(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMillisecondsMax,
             sizeof(kUnacknowledgedMillisecondsMax));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Listen(const std::string& text) {
  CAIRN_ASSIGN_OR_RETURN(const Address address, ParseAddress(text, /*allow_port_zero=*/true));
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (int error = getaddrinfo(address.host.c_str(), "0", &hints, &found); error != 0) {
    return CannotListen(address, gai_strerror(error));
  }
  std::unique_ptr<Listener> listener(new Listener());
  uint16_t port = address.port;
  int failure = 0;
  for (const addrinfo* where = found; where != nullptr; where = where->ai_next) {
    const int handle = Bind(*where, &port);
    if (handle >= 0) {
      listener->sockets_.push_back(handle);
    } else if (failure != EADDRINUSE) {
      failure = -handle;
    }
  }
  freeaddrinfo(found);
  // A failure on one address (such as an unsupported family) is ignored if another one works, but a
  // port that is in use on any address is an error.
  if (failure == EADDRINUSE || listener->sockets_.empty()) return BindError(address, failure);
  listener->wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (listener->wake_ < 0) return CannotListen(address, std::strerror(errno));
  listener->port_ = port;
  return listener;
}

Listener::~Listener() {
  Stop();
  if (wake_ >= 0) close(wake_);
}

void Listener::Start(Accepted accepted) {
  accepted_ = std::move(accepted);
  thread_ = std::thread([this] { Run(); });
}

void Listener::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    CAIRN_CHECK(write(wake_, &one, sizeof(one)) == sizeof(one));
    thread_.join();
  }
  for (const int socket : std::exchange(sockets_, {})) close(socket);
}

void Listener::Run() {
  bool pause = false;
  while (true) {
    std::vector<pollfd> polled = {{wake_, POLLIN, 0}};
    if (!pause) {
      for (const int socket : sockets_) polled.push_back({socket, POLLIN, 0});
    }
    const int timeout = pause ? static_cast<int>(kPauseAfterFailure.count()) : -1;
    if (poll(polled.data(), polled.size(), timeout) < 0) continue;
    if (polled[0].revents != 0) return;
    pause = false;
    for (size_t i = 1; i < polled.size(); ++i) {
      if (polled[i].revents != 0 && !AcceptFrom(polled[i].fd)) pause = true;
    }
  }
}

bool Listener::AcceptFrom(int socket) {
  const int descriptor = accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor >= 0) {
    HandOver(descriptor);
    return true;
  }
  switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      Refuse(std::strerror(errno));
      return false;
    default:  // The client has disconnected already.
      return true;
  }
}

void Listener::HandOver(int descriptor) {
  if (IsReserved(descriptor)) {
    close(descriptor);
    return Refuse("only a few file descriptors are left");
  }
  SetOptions(descriptor);
  accepted_(descriptor);
}

void Listener::Refuse(const char* why) {
  ++refused_;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_warning_) return;
  CAIRN_LOG_WARNING("rejecting connections until others end", "port", port_, "connections",
                    refused_, "why", why, "limit", DescriptorLimit(), "fix",
                    "raise it: ulimit -n, or systemd's LimitNOFILE");
  refused_ = 0;
  next_warning_ = now + kWarningInterval;
}

}  // namespace cairn::cluster

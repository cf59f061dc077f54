#include "cli/drill/fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutex.h"

namespace cairn::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Kind = LinkFault::Kind;

constexpr size_t kChunkBytes = 256 << 10;
// A direction with this many undelivered bytes reads no more.
constexpr size_t kBufferedMax = 1 << 20;
// With a delay, the sender must not notice a small window.
constexpr size_t kDelayedMax = 64 << 20;
constexpr int kTimedPollMilliseconds = 2;

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

void SendAtOnce(int socket) {
  const int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
}

// Closes with a reset instead of an orderly end.
void Reset(int socket) {
  const linger none = {1, 0};
  setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof(none));
  close(socket);
}

struct Chunk {
  Clock::time_point due;
  std::string bytes;
};

// The bytes of a connection from one socket to the other.
struct Direction {
  int from = -1;
  int to = -1;
  std::deque<Chunk> chunks;  // Read and not yet delivered.
  size_t buffered = 0;
  size_t noted_held = 0;    // Held bytes that are counted as effects.
  bool lost_bytes = false;  // By kDrop.
  Clock::time_point next =
      {};  // Of kSlow: when the next bytes may leave. Of kCorrupt: the next bit.
};

struct Connection {
  int link = 0;
  Direction to;    // To the target.
  Direction from;  // From the target.
};

struct LinkState {
  int listener = -1;
  int target_port = 0;
  LinkFault to;
  LinkFault from;
};

}  // namespace

// One thread moves all bytes. It holds the lock except while it waits.
class FaultProxy::Impl {
 public:
  Impl() : wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    thread_ = std::thread([this] { Run(); });
  }

  ~Impl() {
    {
      MutexLock lock(&mutex_);
      stopping_ = true;
    }
    Wake();
    thread_.join();
    for (const Connection& connection : connections_) Close(connection, /*reset=*/false);
    for (const LinkState& link : links_) close(link.listener);
    close(wake_);
  }

  absl::StatusOr<Link> AddLink(const std::string& target) {
    const size_t colon = target.rfind(':');
    LinkState link;
    link.target_port = colon == std::string::npos ? 0 : std::atoi(target.c_str() + colon + 1);
    link.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address = Loopback(0);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof(address);
    if (link.listener < 0 || bind(link.listener, generic, length) != 0 ||
        listen(link.listener, 256) != 0 || getsockname(link.listener, generic, &length) != 0) {
      const int error = errno;
      if (link.listener >= 0) close(link.listener);
      return absl::ErrnoToStatus(error, "cannot listen on 127.0.0.1");
    }
    MutexLock lock(&mutex_);
    links_.push_back(link);
    Wake();
    return Link{static_cast<int>(links_.size()) - 1,
                absl::StrCat("127.0.0.1:", ntohs(address.sin_port))};
  }

  void SetFault(int link, const LinkFault& to, const LinkFault& from) {
    MutexLock lock(&mutex_);
    links_[link].to = to;
    links_[link].from = from;
    for (auto connection = connections_.begin(); connection != connections_.end();) {
      const bool ends = connection->link == link && ShallEnd(*connection);
      if (ends) effects_ += links_[link].to.kind == Kind::kClose ? 1 : 0;
      if (ends) Close(*connection, /*reset=*/true);
      connection = ends ? connections_.erase(connection) : std::next(connection);
    }
    Wake();
  }

  int64_t effects() const {
    MutexLock lock(&mutex_);
    return effects_;
  }

 private:
  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof(one));
  }

  static bool IsClosed(const LinkState& link) {
    return link.to.kind == Kind::kClose || link.from.kind == Kind::kClose;
  }

  // The link is closed, or a direction has lost bytes and loses no more.
  bool ShallEnd(const Connection& connection) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const LinkState& link = links_[connection.link];
    return IsClosed(link) || (connection.to.lost_bytes && link.to.kind != Kind::kDrop) ||
           (connection.from.lost_bytes && link.from.kind != Kind::kDrop);
  }

  static void Close(const Connection& connection, bool reset) {
    for (const int socket : {connection.to.from, connection.to.to}) {
      reset ? Reset(socket) : static_cast<void>(close(socket));
    }
  }

  void Run() {
    std::vector<pollfd> polled;
    while (true) {
      int timeout = -1;
      {
        MutexLock lock(&mutex_);
        if (stopping_) return;
        AcceptAll();
        MoveAll();
        timeout = ListPolled(&polled);
      }
      poll(polled.data(), polled.size(), timeout);
      uint64_t wakes = 0;
      [[maybe_unused]] const ssize_t got = read(wake_, &wakes, sizeof(wakes));
    }
  }

  // Lists the sockets to wait for, and returns the timeout for poll.
  int ListPolled(std::vector<pollfd>* polled) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    polled->assign({{wake_, POLLIN, 0}});
    for (const LinkState& link : links_) polled->push_back({link.listener, POLLIN, 0});
    bool is_timed = false;
    const auto add = [&](const Direction& direction, const LinkFault& fault) {
      if (fault.kind != Kind::kNone) is_timed = true;
      if (fault.kind == Kind::kHold) return;  // A held socket is always ready.
      if (CanRead(direction, fault)) polled->push_back({direction.from, POLLIN, 0});
      const bool is_due = !direction.chunks.empty() && direction.chunks.front().due <= Clock::now();
      if (is_due && fault.kind != Kind::kSlow) polled->push_back({direction.to, POLLOUT, 0});
      is_timed |= !direction.chunks.empty() && !is_due;
    };
    for (const Connection& connection : connections_) {
      add(connection.to, links_[connection.link].to);
      add(connection.from, links_[connection.link].from);
    }
    return is_timed ? kTimedPollMilliseconds : -1;
  }

  void AcceptAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (size_t i = 0; i < links_.size(); ++i) {
      while (true) {
        const int client =
            accept4(links_[i].listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (client < 0) break;
        if (IsClosed(links_[i])) {
          ++effects_;
          Reset(client);
          continue;
        }
        const int target = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        const sockaddr_in address = Loopback(links_[i].target_port);
        if (connect(target, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
            errno != EINPROGRESS) {
          close(target);
          Reset(client);
          continue;
        }
        SendAtOnce(client);
        SendAtOnce(target);
        Connection connection;
        connection.link = static_cast<int>(i);
        connection.to.from = connection.from.to = client;
        connection.to.to = connection.from.from = target;
        connections_.push_back(std::move(connection));
      }
    }
  }

  void MoveAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (auto connection = connections_.begin(); connection != connections_.end();) {
      const LinkState& link = links_[connection->link];
      // A closed end ends the connection when what it has sent has been delivered.
      const bool goes_on = Move(link.to, &connection->to) && Move(link.from, &connection->from);
      if (!goes_on) Close(*connection, /*reset=*/false);
      connection = goes_on ? std::next(connection) : connections_.erase(connection);
    }
  }

  static bool CanRead(const Direction& direction, const LinkFault& fault) {
    return direction.buffered < (fault.kind == Kind::kDelay ? kDelayedMax : kBufferedMax);
  }

  // Returns false if the connection is over.
  bool Move(const LinkFault& fault, Direction* direction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (fault.kind == Kind::kHold) return NoteHeld(direction);
    direction->noted_held = 0;
    bool is_open = true;
    while (is_open && CanRead(*direction, fault)) {
      std::string bytes(kChunkBytes, '\0');
      const ssize_t received = recv(direction->from, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN)) break;
      is_open = received > 0;
      if (!is_open) break;
      bytes.resize(static_cast<size_t>(received));
      Take(fault, std::move(bytes), direction);
    }
    return Deliver(fault, direction) && (is_open || !direction->chunks.empty());
  }

  // The bytes that wait in the sender's socket.
  bool NoteHeld(Direction* direction) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int waiting = 0;
    if (ioctl(direction->from, FIONREAD, &waiting) != 0) return true;
    const size_t held = static_cast<size_t>(waiting) + direction->buffered;
    if (held > direction->noted_held) {
      effects_ += static_cast<int64_t>(held - direction->noted_held);
      direction->noted_held = held;
    }
    return true;
  }

  // Takes bytes that were read, and applies the fault to them.
  void Take(const LinkFault& fault, std::string bytes, Direction* direction)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Clock::time_point now = Clock::now();
    Chunk chunk{now, std::move(bytes)};
    const auto count = static_cast<int64_t>(chunk.bytes.size());
    const auto amount =
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(fault.amount));
    switch (fault.kind) {
      case Kind::kNone:
      case Kind::kHold:
      case Kind::kClose:
        break;
      case Kind::kDrop:
        effects_ += count;
        direction->lost_bytes = true;
        return;
      case Kind::kDelay:
        effects_ += count;
        chunk.due = now + amount;
        break;
      case Kind::kSlow:
        effects_ += count;
        break;
      case Kind::kCorrupt:
        if (now < direction->next) break;
        // A pseudo-random place.
        place_ = place_ * 6364136223846793005u + 1442695040888963407u;
        chunk.bytes[(place_ >> 33) % chunk.bytes.size()] ^=
            static_cast<char>(1 << ((place_ >> 20) % 8));
        direction->next = now + amount;
        ++effects_;
        break;
    }
    direction->buffered += chunk.bytes.size();
    direction->chunks.push_back(std::move(chunk));
  }

  bool Deliver(const LinkFault& fault, Direction* direction) {
    const Clock::time_point now = Clock::now();
    size_t allowed = kDelayedMax;
    if (fault.kind == Kind::kSlow) {
      if (now < direction->next) return true;
      allowed = std::max<size_t>(1, static_cast<size_t>(fault.amount * kSlowPeriodSeconds));
    }
    while (!direction->chunks.empty() && direction->chunks.front().due <= now && allowed > 0) {
      std::string& bytes = direction->chunks.front().bytes;
      const ssize_t sent = send(direction->to, bytes.data(), std::min(bytes.size(), allowed),
                                MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0) return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOTCONN;
      const auto count = static_cast<size_t>(sent);
      allowed -= count;
      direction->buffered -= count;
      bytes.erase(0, count);
      if (bytes.empty()) direction->chunks.pop_front();
    }
    if (fault.kind == Kind::kSlow) {
      direction->next = now + std::chrono::milliseconds(kSlowPeriodMilliseconds);
    }
    return true;
  }

  static constexpr int kSlowPeriodMilliseconds = 20;
  static constexpr double kSlowPeriodSeconds = kSlowPeriodMilliseconds / 1000.0;

  const int wake_;
  mutable Mutex mutex_;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<LinkState> links_ ABSL_GUARDED_BY(mutex_);
  std::list<Connection> connections_ ABSL_GUARDED_BY(mutex_);
  int64_t effects_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t place_ ABSL_GUARDED_BY(mutex_) = 1;
  std::thread thread_;
};

FaultProxy::FaultProxy() : impl_(std::make_unique<Impl>()) {}
FaultProxy::~FaultProxy() = default;
absl::StatusOr<FaultProxy::Link> FaultProxy::AddLink(const std::string& target) {
  return impl_->AddLink(target);
}
void FaultProxy::SetFault(int link, const LinkFault& to, const LinkFault& from) {
  impl_->SetFault(link, to, from);
}
int64_t FaultProxy::effects() const { return impl_->effects(); }

}  // namespace cairn::cli

#include "cli/machine/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/local/ports.h"
#include "common/clock.h"

namespace cairn::cli {
namespace {

// Closes the socket at the end. -1: no socket.
class Socket {
 public:
  explicit Socket(int file) : file_(file) {}
  ~Socket() {
    if (file_ >= 0) close(file_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int file() const { return file_; }

 private:
  const int file_;
};

// Negative if the measurement failed; errno has the reason.
absl::Duration MeasureRoundTrip() {
  const absl::Duration failed = absl::Nanoseconds(-1);
  const Socket server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Socket client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  if (bind(server.file(), generic, length) != 0 || listen(server.file(), 1) != 0 ||
      getsockname(server.file(), generic, &length) != 0 ||
      connect(client.file(), generic, length) != 0) {
    return failed;
  }
  const Socket accepted(accept(server.file(), nullptr, nullptr));
  const RealClock clock;
  const absl::Duration begin = clock.Now();
  char byte = 'x';
  if (send(client.file(), &byte, 1, 0) != 1 || recv(accepted.file(), &byte, 1, 0) != 1 ||
      send(accepted.file(), &byte, 1, 0) != 1 || recv(client.file(), &byte, 1, 0) != 1) {
    return failed;
  }
  return clock.Now() - begin;
}

}  // namespace

Check CheckLoopback(int tasks) {
  Check check;
  check.subject = "loopback";
  const auto ports = ChooseAddresses({}, tasks);
  const absl::Duration time = ports.ok() ? MeasureRoundTrip() : absl::ZeroDuration();
  if (ports.ok() && time >= absl::ZeroDuration()) {
    check.found = absl::StrFormat("%d ports are free on 127.0.0.1, round trip %.0f us", tasks,
                                  absl::ToDoubleMicroseconds(time));
    return check;
  }
  const absl::Status why =
      ports.ok() ? absl::ErrnoToStatus(errno, "no connection to 127.0.0.1") : ports.status();
  check.level = Check::Level::kFail;
  check.found = std::string(why.message());
  check.fix = "enable the loopback device (ip link set lo up), and allow programs to listen on it";
  return check;
}

}  // namespace cairn::cli

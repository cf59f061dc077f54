#include "cli/machine/port_probe.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cluster/address.h"

namespace cairn::cli {
namespace {

constexpr int kPatienceMilliseconds = 1000;

bool Refuses(const addrinfo& address) {
  const int probe =
      socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol);
  if (probe < 0) return false;
  int error = connect(probe, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  pollfd connected = {probe, POLLOUT, 0};
  if (error == EINPROGRESS && poll(&connected, 1, kPatienceMilliseconds) == 1) {
    socklen_t size = sizeof(error);
    if (getsockopt(probe, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  }
  close(probe);
  return error == ECONNREFUSED;
}

}  // namespace

std::string WhyUnreachable(const std::string& address) {
  const absl::StatusOr<cluster::Address> parsed = cluster::ParseAddress(address);
  if (!parsed.ok()) return "";
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failure =
      getaddrinfo(parsed->host.c_str(), absl::StrCat(parsed->port).c_str(), &hints, &list);
  if (failure == EAI_NONAME) return "no such host";
  if (failure != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (!Refuses(*each)) return "";
  }
  return "connection refused";
}

}  // namespace cairn::cli

#include "cluster/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace cairn::cluster {
namespace {

constexpr std::string_view kForm = "write HOST:PORT, for example 10.0.0.7:2222 or [fe80::1]:2222";

absl::Status Bad(std::string_view text, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat("address \"", std::string(text), "\" ",
                                                 std::string(reason), "; ", std::string(kForm)));
}

bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_';
}

// Includes zone indices (fe80::1%eth0).
bool IsIpv6Character(char c) { return IsHostCharacter(c) || c == ':' || c == '%'; }

absl::StatusOr<uint16_t> ParsePort(std::string_view text, std::string_view port, bool allow_zero) {
  if (port.empty()) return Bad(text, "ends with a colon and no port");
  const bool digits =
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  int32_t number = 0;
  if (!digits || !absl::SimpleAtoi(absl::string_view(port.data(), port.size()), &number) ||
      number > 65535 || (number == 0 && !allow_zero)) {
    return Bad(text,
               absl::StrCat("has the port \"", std::string(port), "\", which is not a number from ",
                            allow_zero ? 0 : 1, " to 65535"));
  }
  return static_cast<uint16_t>(number);
}

}  // namespace

std::string Address::ToString() const {
  if (host.find(':') != std::string::npos) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

absl::StatusOr<Address> ParseAddress(std::string_view text, bool allow_port_zero) {
  if (text.empty()) return Bad(text, "is empty");
  if (text.find("://") != std::string_view::npos) return Bad(text, "has a scheme");
  const bool bracketed = text.front() == '[';
  const size_t end = bracketed ? text.find(']') : text.rfind(':');
  if (bracketed && end == std::string_view::npos) return Bad(text, "lacks the closing bracket");
  if (end == std::string_view::npos) return Bad(text, "has no port");

  const std::string_view host = bracketed ? text.substr(1, end - 1) : text.substr(0, end);
  const std::string_view rest = text.substr(bracketed ? end + 1 : end);
  if (rest.empty()) return Bad(text, "has no port");
  if (rest.front() != ':') return Bad(text, "has something other than a port after the bracket");
  if (host.empty()) return Bad(text, "has no host");
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return Bad(text, "is an IPv6 address without brackets, or has two ports");
  }
  if (bracketed && host.find(':') == std::string_view::npos) {
    return Bad(text, "has brackets around something other than an IPv6 address");
  }
  if (!std::all_of(host.begin(), host.end(), bracketed ? IsIpv6Character : IsHostCharacter)) {
    return Bad(text, "has a host with invalid characters");
  }
  const absl::StatusOr<uint16_t> port = ParsePort(text, rest.substr(1), allow_port_zero);
  if (!port.ok()) return port.status();
  return Address{std::string(host), *port};
}

bool IsLoopback(const Address& address) {
  if (address.host == "localhost") return true;
  constexpr uint32_t kNet = 0x7f000000, kMask = 0xff000000;
  in_addr four = {};
  if (inet_pton(AF_INET, address.host.c_str(), &four) == 1) {
    return (ntohl(four.s_addr) & kMask) == kNet;
  }
  in6_addr six = {};
  if (inet_pton(AF_INET6, address.host.c_str(), &six) != 1) return false;
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

std::string BindAddress(const Address& own) {
  // "localhost" may resolve to both 127.0.0.1 and ::1; binding only one of them would look like
  // success.
  if (own.host == "localhost") return absl::StrCat("127.0.0.1:", own.port);
  return own.ToString();
}

}  // namespace cairn::cluster

#include "cli/machine/port_probe.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/common/free_port.h"

namespace cairn::cli {
namespace {

TEST(PortProbeTest, APortOnWhichNobodyListensRefuses) {
  EXPECT_EQ(WhyUnreachable(absl::StrCat("127.0.0.1:", testing::FreePort())), "connection refused");
}

TEST(PortProbeTest, AListeningPortDoesNotRefuseBeforeItAccepts) {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  ASSERT_EQ(bind(server, generic, length), 0);
  ASSERT_EQ(listen(server, 1), 0);
  ASSERT_EQ(getsockname(server, generic, &length), 0);
  EXPECT_EQ(WhyUnreachable(absl::StrCat("127.0.0.1:", ntohs(address.sin_port))), "");
  close(server);
}

TEST(PortProbeTest, AnAddressThatCannotBeParsedIsNothingToBeSureOf) {
  EXPECT_EQ(WhyUnreachable("nonsense"), "");
}

}  // namespace
}  // namespace cairn::cli

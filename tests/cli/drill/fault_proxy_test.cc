#include "cli/drill/fault_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using Kind = LinkFault::Kind;
using std::chrono::milliseconds;

constexpr milliseconds kLong(10000);
constexpr milliseconds kMoment(100);

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

// A listener with a link to it, and the two ends of connections over the link.
class FaultProxyTest : public ::testing::Test {
 protected:
  struct Ends {
    int client = -1;
    int server = -1;
  };

  FaultProxyTest() {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = Loopback(0);
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    socklen_t length = sizeof(address);
    EXPECT_EQ(bind(listener_, generic, length), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    EXPECT_EQ(getsockname(listener_, generic, &length), 0);
    link_ = *proxy_.AddLink("127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  }
  ~FaultProxyTest() override { close(listener_); }

  int Connect() const {
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = Loopback(std::atoi(link_.address.substr(10).c_str()));
    EXPECT_EQ(connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return client;
  }

  Ends Open() {
    Ends ends;
    ends.client = Connect();
    ends.server = accept(listener_, nullptr, nullptr);
    return ends;
  }

  static void Send(int socket, const std::string& bytes) {
    ASSERT_EQ(send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), bytes.size());
  }

  // What arrives until `count` bytes have, the connection ends ("!"), or the time is over.
  static std::string Receive(int socket, size_t count, milliseconds timeout = kLong) {
    std::string received;
    const auto end = std::chrono::steady_clock::now() + timeout;
    while (received.size() < count) {
      const auto left =
          std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
      pollfd polled = {socket, POLLIN, 0};
      if (left.count() <= 0 || poll(&polled, 1, static_cast<int>(left.count())) != 1) break;
      char buffer[65536];
      const ssize_t got = recv(socket, buffer, sizeof(buffer), 0);
      if (got <= 0) return received + "!";
      received.append(buffer, static_cast<size_t>(got));
    }
    return received;
  }

  int listener_ = -1;
  FaultProxy proxy_;
  FaultProxy::Link link_;
};

TEST_F(FaultProxyTest, ForwardsInBothDirectionsAndEndsBothSides) {
  const Ends ends = Open();
  Send(ends.client, "question");
  EXPECT_EQ(Receive(ends.server, 8), "question");
  const std::string answer(3 << 20, 'a');
  std::string received;
  for (size_t at = 0; at < answer.size(); at += 65536) {
    Send(ends.server, answer.substr(at, 65536));
    received += Receive(ends.client, 65536);
  }
  EXPECT_EQ(received, answer);
  Send(ends.server, "last");
  close(ends.server);
  EXPECT_EQ(Receive(ends.client, 5), "last!");
  EXPECT_EQ(proxy_.effects(), 0);
  close(ends.client);
}

TEST_F(FaultProxyTest, HoldsOneDirectionAndLosesNothing) {
  const Ends ends = Open();
  proxy_.SetFault(link_.id, {Kind::kHold}, {});
  Send(ends.client, "held");
  Send(ends.server, "free");
  EXPECT_EQ(Receive(ends.client, 4), "free");
  EXPECT_EQ(Receive(ends.server, 4, kMoment), "");
  EXPECT_EQ(proxy_.effects(), 4);
  proxy_.SetFault(link_.id, {}, {});
  EXPECT_EQ(Receive(ends.server, 4), "held");
}

TEST_F(FaultProxyTest, DroppedBytesEndTheConnectionWithTheFault) {
  const Ends ends = Open();
  proxy_.SetFault(link_.id, {Kind::kDrop}, {Kind::kDrop});
  Send(ends.client, "lost");
  EXPECT_EQ(Receive(ends.server, 4, kMoment), "");
  EXPECT_EQ(proxy_.effects(), 4);
  proxy_.SetFault(link_.id, {}, {});
  EXPECT_EQ(Receive(ends.server, 4), "!");
}

TEST_F(FaultProxyTest, ResetsConnectionsAndNewOnes) {
  const Ends ends = Open();
  Send(ends.client, "x");
  ASSERT_EQ(Receive(ends.server, 1), "x");
  proxy_.SetFault(link_.id, {Kind::kClose}, {Kind::kClose});
  EXPECT_EQ(Receive(ends.client, 1), "!");
  EXPECT_EQ(Receive(ends.server, 1), "!");
  EXPECT_EQ(Receive(Connect(), 1), "!");
  EXPECT_EQ(proxy_.effects(), 2);
  proxy_.SetFault(link_.id, {}, {});
  const Ends again = Open();
  Send(again.client, "y");
  EXPECT_EQ(Receive(again.server, 1), "y");
}

TEST_F(FaultProxyTest, DelaysBytes) {
  const Ends ends = Open();
  proxy_.SetFault(link_.id, {Kind::kDelay, 0.3}, {});
  const auto begin = std::chrono::steady_clock::now();
  Send(ends.client, "late");
  EXPECT_EQ(Receive(ends.server, 4), "late");
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(300));
  EXPECT_EQ(proxy_.effects(), 4);
}

TEST_F(FaultProxyTest, SlowsBytesDown) {
  const Ends ends = Open();
  proxy_.SetFault(link_.id, {Kind::kSlow, 100e3}, {});
  const auto begin = std::chrono::steady_clock::now();
  Send(ends.client, std::string(50000, 's'));
  EXPECT_EQ(Receive(ends.server, 50000).size(), 50000);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(450));
}

TEST_F(FaultProxyTest, InvertsOneBitAtATime) {
  const Ends ends = Open();
  proxy_.SetFault(link_.id, {Kind::kCorrupt, 1000}, {});
  const std::string sent(1000, '\0');
  Send(ends.client, sent);
  Send(ends.client, sent);
  int bits = 0;
  for (const char c : Receive(ends.server, 2000)) bits += __builtin_popcount(c & 0xff);
  EXPECT_EQ(bits, 1);
  EXPECT_EQ(proxy_.effects(), 1);
}

}  // namespace
}  // namespace cairn::cli

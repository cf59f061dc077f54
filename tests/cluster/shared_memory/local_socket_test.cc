#include "cluster/shared_memory/local_socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace cairn::cluster {
namespace {

constexpr int kPatienceMilliseconds = 60'000;

std::string OwnName() { return "cairn-local-socket-test-" + std::to_string(getpid()); }

bool HasSomething(int socket) {
  pollfd watched = {socket, POLLIN, 0};
  return poll(&watched, 1, kPatienceMilliseconds) == 1;
}

// Two connected sockets.
class LocalSocketTest : public ::testing::Test {
 protected:
  LocalSocketTest() {
    EXPECT_TRUE(HasSomething(listener_));
    server_ = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    EXPECT_GE(server_, 0);
  }
  ~LocalSocketTest() override {
    for (int socket : {listener_, client_, server_}) close(socket);
  }

  const int listener_ = ListenLocally(OwnName());
  const int client_ = ConnectLocally(OwnName());
  int server_ = -1;
};

TEST_F(LocalSocketTest, AMessageArrivesCompletelyWithItsDescriptor) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_TRUE(SendWithDescriptor(client_, "hello", 5, ends[1]));
  close(ends[1]);
  ASSERT_TRUE(HasSomething(server_));
  char text[16] = {};
  LocalMessage message;
  ASSERT_TRUE(Receive(server_, text, sizeof(text), &message));
  EXPECT_EQ(message.bytes, 5u);
  EXPECT_STREQ(text, "hello");
  ASSERT_GE(message.descriptor, 0);
  EXPECT_EQ(write(message.descriptor, "x", 1), 1);
  char letter = 0;
  EXPECT_EQ(read(ends[0], &letter, 1), 1);
  EXPECT_EQ(letter, 'x');
  close(message.descriptor);
  close(ends[0]);
}

TEST_F(LocalSocketTest, AnEmptySocketWouldBlockAndAClosedOneIsDetected) {
  char text[16];
  LocalMessage message;
  EXPECT_TRUE(Receive(server_, text, sizeof(text), &message));
  EXPECT_TRUE(message.would_block);
  EXPECT_EQ(send(client_, "abc", 3, 0), 3);
  ASSERT_TRUE(HasSomething(server_));
  EXPECT_TRUE(Receive(server_, text, sizeof(text), &message));
  EXPECT_EQ(message.bytes, 3u);
  EXPECT_EQ(message.descriptor, -1);
  shutdown(client_, SHUT_RDWR);
  ASSERT_TRUE(HasSomething(server_));
  EXPECT_TRUE(Receive(server_, text, sizeof(text), &message));
  EXPECT_FALSE(message.would_block);
  EXPECT_EQ(message.bytes, 0u);
}

TEST_F(LocalSocketTest, TheSameProcessIsTheSameUser) {
  EXPECT_TRUE(PeerIsSameUser(client_));
  EXPECT_TRUE(PeerIsSameUser(server_));
  EXPECT_FALSE(PeerIsSameUser(-1));
}

TEST_F(LocalSocketTest, ANameIsExclusiveAndUnknownNamesAreRefused) {
  EXPECT_EQ(ListenLocally(OwnName()), -1);
  EXPECT_EQ(ConnectLocally(OwnName() + "-nobody"), -1);
  EXPECT_EQ(ListenLocally(std::string(200, 'x')), -1);
}

}  // namespace
}  // namespace cairn::cluster

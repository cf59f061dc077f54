#include "cluster/shared_memory/shared_memory_host.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cluster/shared_memory/local_socket.h"

namespace cairn::cluster {
namespace {

constexpr int kPatienceMilliseconds = 60'000;
// Not the port of any server, because ports end at 65535.
constexpr int kNoPort = 100'000;

class SharedMemoryHostTest : public ::testing::Test {
 protected:
  int port() const { return port_; }
  int Connect() const { return ConnectLocally(SharedMemoryOffer::SocketName(port())); }

  static bool SendOffer(int socket, uint64_t token, const SharedMemory& memory,
                        uint32_t version = 1) {
    SharedMemoryOffer offer;
    offer.version = version;
    offer.token = token;
    return SendWithDescriptor(socket, &offer, sizeof(offer), memory.descriptor());
  }

  // The host's reply: 1 (accepted), 0 (disconnected), -1 (none).
  static int Answer(int socket) {
    pollfd watched = {socket, POLLIN, 0};
    if (poll(&watched, 1, kPatienceMilliseconds) != 1) return -1;
    char yes = 0;
    return recv(socket, &yes, 1, 0) == 1 ? yes : 0;
  }

  void WaitForClients(size_t count) const {
    const absl::Time deadline = absl::Now() + absl::Milliseconds(kPatienceMilliseconds);
    while (host_->clients() != count && absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    EXPECT_EQ(host_->clients(), count);
  }

  const int port_ = kNoPort + getpid();  // The same in a forked child.
  std::unique_ptr<SharedMemoryHost> host_ = *SharedMemoryHost::Start(port());
  std::shared_ptr<SharedMemory> memory_ = *SharedMemory::Create(77, 4096);
};

TEST_F(SharedMemoryHostTest, OfferedMemoryIsFoundUntilItsClientDisconnects) {
  const int client = Connect();
  ASSERT_TRUE(SendOffer(client, 77, *memory_));
  ASSERT_EQ(Answer(client), 1);
  const std::shared_ptr<SharedMemory> found = host_->Find(77);
  ASSERT_NE(found, nullptr);
  memory_->data()[11] = 12;
  EXPECT_EQ(found->data()[11], 12);
  EXPECT_EQ(host_->Find(78), nullptr);
  close(client);
  WaitForClients(0);
  EXPECT_EQ(host_->Find(77), nullptr);
  EXPECT_EQ(found->data()[11], 12);  // A reference keeps the memory valid.
}

TEST_F(SharedMemoryHostTest, AKilledClientIsDetected) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int client = Connect();
    const char answer = SendOffer(client, 77, *memory_) ? static_cast<char>(Answer(client)) : 9;
    if (write(ready[1], &answer, 1) != 1) _exit(1);
    while (true) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 1);
  EXPECT_NE(host_->Find(77), nullptr);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  WaitForClients(0);
  EXPECT_EQ(host_->Find(77), nullptr);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(SharedMemoryHostTest, InvalidOffersAreDisconnected) {
  const auto expect_refused = [&](auto send_something) {
    const int client = Connect();
    EXPECT_TRUE(send_something(client));
    EXPECT_EQ(Answer(client), 0);
    close(client);
  };
  expect_refused([&](int client) { return SendOffer(client, 0, *memory_); });
  expect_refused([&](int client) { return SendOffer(client, 77, *memory_, /*version=*/9); });
  expect_refused([](int client) { return send(client, "hello", 5, 0) == 5; });
  expect_refused([](int client) {
    SharedMemoryOffer offer;
    offer.token = 77;
    return send(client, &offer, sizeof(offer), 0) == sizeof(offer);  // Without a descriptor.
  });
  expect_refused([](int client) {
    SharedMemoryOffer offer;
    offer.token = 77;
    // A descriptor that is not a memfd.
    return SendWithDescriptor(client, &offer, sizeof(offer), client);
  });
  EXPECT_EQ(host_->Find(77), nullptr);
}

TEST_F(SharedMemoryHostTest, TokensAreUniqueAndAClientOffersOnce) {
  const int first = Connect();
  const int second = Connect();
  ASSERT_TRUE(SendOffer(first, 77, *memory_));
  EXPECT_EQ(Answer(first), 1);
  ASSERT_TRUE(SendOffer(second, 77, *memory_));
  EXPECT_EQ(Answer(second), 0);
  EXPECT_NE(host_->Find(77), nullptr);
  ASSERT_TRUE(SendOffer(first, 78, *memory_));
  EXPECT_EQ(Answer(first), 0);
  close(first);
  close(second);
}

TEST_F(SharedMemoryHostTest, ClientsBeyondTheLimitAreDisconnected) {
  std::vector<int> clients;
  for (size_t i = 0; i < SharedMemoryHost::kClientsMax; ++i) {
    clients.push_back(Connect());
    ASSERT_GE(clients.back(), 0);
    WaitForClients(clients.size());
  }
  const int one_more = Connect();
  EXPECT_EQ(Answer(one_more), 0);
  close(one_more);
  close(clients.back());
  WaitForClients(SharedMemoryHost::kClientsMax - 1);
  clients.back() = Connect();
  ASSERT_TRUE(SendOffer(clients.back(), 77, *memory_));
  EXPECT_EQ(Answer(clients.back()), 1);
  for (int client : clients) close(client);
}

TEST_F(SharedMemoryHostTest, APortHasOneHostAtATime) {
  EXPECT_TRUE(absl::IsUnavailable(SharedMemoryHost::Start(port()).status()));
  host_.reset();
  EXPECT_EQ(Connect(), -1);
  EXPECT_TRUE(SharedMemoryHost::Start(port()).ok());
}

}  // namespace
}  // namespace cairn::cluster

#include "collectives/socket.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "cluster/listener.h"
#include "tests/common/free_port.h"

namespace cairn::collectives {
namespace {

// Two ends of a connection.
class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = cluster::Listener::Listen("127.0.0.1:0");
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    listener_->Start([this](int descriptor) {
      const std::lock_guard lock(mutex_);
      there_.emplace(descriptor);
      accepted_.notify_all();
    });
    auto here =
        Socket::Connect({"127.0.0.1", static_cast<uint16_t>(listener_->port())}, absl::Seconds(10));
    ASSERT_TRUE(here.ok()) << here.status();
    here_ = *std::move(here);
    std::unique_lock lock(mutex_);
    accepted_.wait(lock, [this] { return there_.has_value(); });
  }

  std::unique_ptr<cluster::Listener> listener_;
  std::mutex mutex_;
  std::condition_variable accepted_;
  Socket here_;
  std::optional<Socket> there_;
};

TEST_F(SocketTest, MoreThanTheBuffersHoldArrivesWhole) {
  std::string sent(8 << 20, 'x');
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 31 >> 3);
  std::string received(sent.size(), '\0');
  std::thread reader([&] {
    EXPECT_TRUE(there_->ReceiveAll(received.data(), received.size(), absl::Seconds(20)).ok());
  });
  EXPECT_TRUE(here_.SendAll(sent.data(), sent.size(), absl::Seconds(20)).ok());
  reader.join();
  EXPECT_EQ(received, sent);
}

TEST_F(SocketTest, SmallBuffersHoldLittle) {
  here_.SetBufferSizes(64 << 10);
  there_->SetBufferSizes(64 << 10);
  const std::string data(16 << 10, 'x');
  size_t held = 0;  // Without a reader.
  while (held < (4 << 20)) {
    const size_t sent = here_.SendSome(data.data(), data.size()).value_or(0);
    if (sent == 0) break;
    held += sent;
  }
  EXPECT_GT(held, 0u);
  EXPECT_LT(held, 1u << 20);
}

TEST_F(SocketTest, NothingToReadIsNoError) {
  char byte = 0;
  EXPECT_EQ(here_.ReceiveSome(&byte, 1).value_or(9), 0u);
}

TEST_F(SocketTest, APeerThatNeverAnswersIsWaitedForUntilTheDeadline) {
  char byte = 0;
  EXPECT_EQ(here_.ReceiveAll(&byte, 1, absl::Milliseconds(50)).code(),
            absl::StatusCode::kDeadlineExceeded);
  const std::string much(64 << 20, 'x');
  EXPECT_EQ(here_.SendAll(much.data(), much.size(), absl::Milliseconds(50)).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(SocketTest, AClosedConnectionIsUnavailable) {
  there_.reset();
  char byte = 0;
  EXPECT_EQ(here_.ReceiveAll(&byte, 1, absl::Seconds(10)).code(), absl::StatusCode::kUnavailable);
}

TEST(SocketConnectTest, NobodyThereIsUnavailable) {
  const auto port = static_cast<uint16_t>(cairn::testing::FreePort());
  EXPECT_EQ(Socket::Connect({"127.0.0.1", port}, absl::Seconds(5)).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(Socket::Connect({"no.such.host.invalid", port}, absl::Seconds(5)).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace cairn::collectives

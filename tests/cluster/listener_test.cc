#include "cluster/listener.h"

#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/bounded_queue.h"
#include "gtest/gtest.h"
#include "tests/cluster/connection.h"

namespace cairn::cluster {
namespace {

using cairn::testing::Connection;

// Collects accepted connections until the test takes them.
class ListenerTest : public ::testing::Test {
 protected:
  void Listen(const std::string& address) {
    auto listener = Listener::Listen(address);
    ASSERT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
  }
  void Start() {
    listener_->Start([this](int descriptor) { accepted_.Push(descriptor); });
  }
  void TearDown() override {
    if (listener_ != nullptr) listener_->Stop();
    while (accepted_.size() > 0) close(*accepted_.Pop(absl::ZeroDuration()));
  }
  // Returns false if nothing is accepted within 20 seconds.
  bool OneIsAccepted() {
    const std::optional<int> descriptor = accepted_.Pop(absl::Seconds(20));
    if (descriptor.has_value()) close(*descriptor);
    return descriptor.has_value();
  }

  BoundedQueue<int> accepted_{1000};
  std::unique_ptr<Listener> listener_;
};

// Limits the file descriptors of this process for a scope.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few = {limit, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~DescriptorLimit() {
    for (const int copy : copies_) close(copy);
    setrlimit(RLIMIT_NOFILE, &before_);
  }

  // Opens descriptors until `left` are free.
  void Fill(int left) {
    for (int copy = dup(0); copy >= 0; copy = dup(0)) copies_.push_back(copy);
    for (; left > 0 && !copies_.empty(); --left) {
      close(copies_.back());
      copies_.pop_back();
    }
  }

 private:
  rlimit before_ = {};
  std::vector<int> copies_;
};

TEST_F(ListenerTest, AConnectionBeforeStartIsAcceptedAfterIt) {
  Listen("127.0.0.1:0");
  Connection early;
  ASSERT_TRUE(early.ConnectTo(listener_->port()));
  Start();
  EXPECT_TRUE(OneIsAccepted());
}

TEST_F(ListenerTest, APortIsInUseUntilStop) {
  Listen("127.0.0.1:0");
  Start();
  const std::string address = absl::StrCat("127.0.0.1:", listener_->port());
  EXPECT_TRUE(absl::IsAlreadyExists(Listener::Listen(address).status()));
  listener_->Stop();
  listener_->Stop();
  EXPECT_TRUE(Listener::Listen(address).ok());
}

TEST_F(ListenerTest, InvalidAddressesAreRefusedWithTheirNames) {
  EXPECT_TRUE(absl::IsInvalidArgument(Listener::Listen("127.0.0.1").status()));
  const absl::Status unknown = Listener::Listen("no-such-host.invalid:1").status();
  EXPECT_TRUE(absl::IsUnavailable(unknown));
  EXPECT_NE(unknown.message().find("no-such-host.invalid:1"), absl::string_view::npos) << unknown;
  EXPECT_TRUE(absl::IsUnavailable(Listener::Listen("192.0.2.1:0").status())) << "not ours";
}

TEST_F(ListenerTest, ListensOnIpv6Loopback) {
  auto listener = Listener::Listen("[::1]:0");
  if (!listener.ok()) GTEST_SKIP() << "no IPv6 here: " << listener.status();
  EXPECT_GT((*listener)->port(), 0);
}

TEST_F(ListenerTest, AnyIpv6AddressIncludesIpv4) {
  auto listener = Listener::Listen("[::]:0");
  if (!listener.ok()) GTEST_SKIP() << "no IPv6 here: " << listener.status();
  listener_ = *std::move(listener);
  Start();
  Connection connection;
  ASSERT_TRUE(connection.ConnectTo(listener_->port()));
  EXPECT_TRUE(OneIsAccepted());
}

TEST_F(ListenerTest, TheLastDescriptorsAreNotGivenToConnections) {
  Listen("127.0.0.1:0");
  Start();
  DescriptorLimit limit(128);
  Connection refused;
  limit.Fill(/*left=*/20);
  ASSERT_TRUE(refused.ConnectTo(listener_->port()));
  EXPECT_TRUE(refused.IsClosedByPeer(std::chrono::seconds(20)));
  EXPECT_EQ(accepted_.size(), 0u);
}

TEST_F(ListenerTest, AConnectionIsAcceptedWhenDescriptorsAreFreeAgain) {
  Listen("127.0.0.1:0");
  Start();
  Connection waiting;
  {
    DescriptorLimit limit(128);
    limit.Fill(/*left=*/0);
    ASSERT_TRUE(waiting.ConnectTo(listener_->port()));
    EXPECT_FALSE(waiting.IsClosedByPeer());
  }
  EXPECT_TRUE(OneIsAccepted());
}

}  // namespace
}  // namespace cairn::cluster

#include "parameters/peer_watch.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/common/free_port.h"
#include "tests/parameters/test_peer.h"

namespace cairn::parameters {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);

// The indices of the ps that are silent, after some heartbeats.
std::vector<uint32_t> SilentPs(PeerWatch* watch) {
  proto::Heartbeat heartbeat;
  watch->FillHeartbeat(&heartbeat);
  std::vector<uint32_t> silent;
  for (const proto::SilentPs& ps : heartbeat.silent_ps()) {
    EXPECT_GE(ps.milliseconds(), 0);
    silent.push_back(ps.ps());
  }
  return silent;
}

bool Become(PeerWatch* watch, const std::vector<uint32_t>& silent) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (SilentPs(watch) != silent && absl::Now() < deadline) absl::SleepFor(absl::Milliseconds(1));
  return SilentPs(watch) == silent;
}

cluster::PsClientOptions ClientOf(std::vector<std::string> addresses) {
  cluster::PsClientOptions options;
  options.addresses = std::move(addresses);
  options.cluster_id = kPeerCluster;
  options.sender = "ps 0";
  return options;
}

TEST(PeerWatchTest, APsIsSilentWhileItDoesNotAnswer) {
  const std::string root = FreshRoot();
  TestPeer first(0, root), second(1, root);
  PeerWatch watch;
  EXPECT_TRUE(SilentPs(&watch).empty()) << "no cluster yet";
  watch.SetCluster(ClientOf({first.address(), second.address()}));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(SilentPs(&watch).empty());
  const int port = second.port();
  second.Stop();
  EXPECT_TRUE(Become(&watch, {1}));
  second.Serve(port);
  EXPECT_TRUE(Become(&watch, {}));
  watch.Stop();
  EXPECT_TRUE(SilentPs(&watch).empty());
}

TEST(PeerWatchTest, TheSameClusterKeepsTheSilenceAndNewAddressesEndIt) {
  const std::string root = FreshRoot();
  TestPeer peer(0, root);
  const std::string nobody = absl::StrCat("127.0.0.1:", testing::FreePort());
  PeerWatch watch;
  watch.SetCluster(ClientOf({peer.address(), nobody}));
  ASSERT_TRUE(Become(&watch, {1}));
  watch.SetCluster(ClientOf({peer.address(), nobody}));
  EXPECT_EQ(SilentPs(&watch), std::vector<uint32_t>({1}));
  watch.SetCluster(ClientOf({nobody, peer.address()}));
  EXPECT_TRUE(SilentPs(&watch).empty());
  EXPECT_TRUE(Become(&watch, {0}));
}

TEST(PeerWatchTest, AllPsOfALargeClusterHaveTheirTurn) {
  const std::string root = FreshRoot();
  TestPeer peer(0, root);
  std::vector<std::string> addresses(3 * PeerWatch::kPingsPerHeartbeat, peer.address());
  addresses.back() = absl::StrCat("127.0.0.1:", testing::FreePort());
  PeerWatch watch;
  watch.SetCluster(ClientOf(addresses));
  EXPECT_TRUE(Become(&watch, {static_cast<uint32_t>(addresses.size() - 1)}));
}

}  // namespace
}  // namespace cairn::parameters

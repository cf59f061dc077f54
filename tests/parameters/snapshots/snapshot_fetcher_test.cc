#include "parameters/snapshots/snapshot_fetcher.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/parameters/test_peer.h"

namespace cairn::parameters {
namespace {

std::vector<uint32_t> Evens(int count) {
  std::vector<uint32_t> blocks;
  for (int i = 1; i <= count; ++i) blocks.push_back(2 * i);
  return blocks;
}

TEST(SnapshotFetcherTest, LargeBlocksArriveInOrderInSeveralReplies) {
  TestPeer peer(0, FreshRoot());
  const proto::SnapshotPart part =
      WriteTestSnapshot(peer.store(), {7, 4}, 0, /*seed=*/1, /*blocks=*/20, /*bytes=*/1 << 20);
  SnapshotFetcher fetcher("ps 1");
  fetcher.SetCluster({peer.address()}, kPeerCluster);
  uint32_t expected = 0;
  const absl::Status fetched =
      fetcher.Fetch({0, 7, 4, part}, Evens(20), [&](uint32_t block, storage::BlockRecord record) {
        expected += 2;
        EXPECT_EQ(block, expected);
        EXPECT_EQ(record.header(), absl::StrCat("header ", block / 2));
        EXPECT_EQ(record.payload(), std::string(1 << 20, static_cast<char>('a' + 1 + block / 2)));
        return absl::OkStatus();
      });
  EXPECT_TRUE(fetched.ok()) << fetched;
  EXPECT_EQ(expected, 40u);
}

TEST(SnapshotFetcherTest, AnErrorOfTheVisitorOrOfThePsEndsFetch) {
  TestPeer peer(0, FreshRoot());
  const proto::SnapshotPart part = WriteTestSnapshot(peer.store(), {7, 4}, 0, 1);
  SnapshotFetcher fetcher("ps 1");
  fetcher.SetCluster({peer.address()}, kPeerCluster);
  const auto fail = [](uint32_t, storage::BlockRecord) { return absl::DataLossError("no"); };
  EXPECT_EQ(fetcher.Fetch({0, 7, 4, part}, {2, 4}, fail).message(), "no");
  const auto take = [](uint32_t, storage::BlockRecord) { return absl::OkStatus(); };
  EXPECT_TRUE(absl::IsNotFound(fetcher.Fetch({0, 7, 5, part}, {2}, take)));
  EXPECT_TRUE(absl::IsNotFound(fetcher.Fetch({0, 7, 4, part}, {3}, take)));
  EXPECT_TRUE(absl::IsUnavailable(fetcher.Fetch({1, 7, 4, part}, {2}, take)))
      << "there is no ps 1 in this cluster";
}

TEST(SnapshotFetcherTest, ASilentPsTimesOutAndARestartedOneDoesNot) {
  TestPeer peer(0, FreshRoot());
  const proto::SnapshotPart part = WriteTestSnapshot(peer.store(), {7, 4}, 0, 1);
  peer.Stop();
  const auto take = [](uint32_t, storage::BlockRecord) { return absl::OkStatus(); };
  SnapshotFetcher hasty("ps 1", absl::Milliseconds(50));
  hasty.SetCluster({peer.address()}, kPeerCluster);
  const absl::Status silent = hasty.Fetch({0, 7, 4, part}, {2}, take);
  EXPECT_TRUE(absl::IsUnavailable(silent)) << silent;
  SnapshotFetcher patient("ps 1");
  patient.SetCluster({peer.address()}, kPeerCluster);
  absl::Status fetched;
  std::thread waits([&] { fetched = patient.Fetch({0, 7, 4, part}, {2}, take); });
  peer.Serve(peer.port());
  waits.join();
  EXPECT_TRUE(fetched.ok()) << fetched;
}

TEST(SnapshotFetcherTest, StopCancelsCurrentAndFutureCalls) {
  TestPeer peer(0, FreshRoot());
  const proto::SnapshotPart part = WriteTestSnapshot(peer.store(), {7, 4}, 0, 1);
  peer.Stop();
  SnapshotFetcher fetcher("ps 1");
  fetcher.SetCluster({peer.address()}, kPeerCluster);
  absl::Status fetched;
  const auto take = [](uint32_t, storage::BlockRecord) { return absl::OkStatus(); };
  std::thread waits([&] { fetched = fetcher.Fetch({0, 7, 4, part}, {2}, take); });
  fetcher.Stop();
  waits.join();
  EXPECT_TRUE(absl::IsCancelled(fetched)) << fetched;
  EXPECT_TRUE(absl::IsCancelled(fetcher.Fetch({0, 7, 4, part}, {2}, take)));
}

}  // namespace
}  // namespace cairn::parameters

#include "parameters/snapshots/snapshot_copier.h"

#include <gtest/gtest.h>

#include "tests/parameters/test_peer.h"

namespace cairn::parameters {
namespace {

class SnapshotCopierTest : public ::testing::Test {
 protected:
  SnapshotCopierTest()
      : root_(FreshRoot()),
        writer_(0, root_),
        keeper_(1, root_),
        fetcher_("ps 1"),
        copier_(keeper_.store(), &fetcher_) {
    fetcher_.SetCluster({writer_.address(), keeper_.address()}, kPeerCluster);
  }

  const std::string root_;
  TestPeer writer_;
  TestPeer keeper_;
  SnapshotFetcher fetcher_;
  SnapshotCopier copier_;
};

TEST_F(SnapshotCopierTest, ACopyHasTheSameChecksumAndOutlivesTheOriginal) {
  const proto::SnapshotPart part =
      WriteTestSnapshot(writer_.store(), {7, 4}, 0, 1, /*blocks=*/12, /*bytes=*/1 << 20);
  const std::vector<uint32_t> blocks = {2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24};
  ASSERT_TRUE(copier_.Copy({0, 7, 4, part}, blocks).ok());
  ASSERT_TRUE(writer_.store()->DeleteCheckpoint(7, 4).ok());
  const auto copy = keeper_.catalog().Open(7, 4, part);
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_TRUE((*copy)->Verify().ok());
  // Succeeds without a request, because the copy exists.
  writer_.Stop();
  EXPECT_TRUE(copier_.Copy({0, 7, 4, part}, blocks).ok());
}

TEST_F(SnapshotCopierTest, AnIncompleteCopyIsNotKept) {
  const proto::SnapshotPart part = WriteTestSnapshot(writer_.store(), {7, 4}, 0, 1);
  EXPECT_TRUE(absl::IsDataLoss(copier_.Copy({0, 7, 4, part}, {2, 4})));
  EXPECT_TRUE(absl::IsNotFound(copier_.Copy({0, 7, 4, part}, {2, 4, 6, 8})));
  EXPECT_TRUE(absl::IsNotFound(copier_.Copy({0, 7, 5, part}, {2, 4, 6})));
  for (const auto& file : std::filesystem::directory_iterator(root_ + "/ps-1")) {
    EXPECT_EQ(file.path().filename(), "LOCK");
  }
}

}  // namespace
}  // namespace cairn::parameters

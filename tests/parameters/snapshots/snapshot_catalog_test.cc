#include "parameters/snapshots/snapshot_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/parameters/test_peer.h"

namespace cairn::parameters {
namespace {

using ::testing::UnorderedElementsAre;

// "4:1" for part 1 of checkpoint 4, "4:1*" if it is on the ps's own disk.
std::vector<std::string> Listed(const SnapshotCatalog& catalog) {
  std::vector<std::string> names;
  const proto::SnapshotList list = catalog.List(7);
  for (const proto::ReadableSnapshot& snapshot : list.snapshots()) {
    names.push_back(absl::StrCat(snapshot.checkpoint(), ":", snapshot.part().ps(),
                                 snapshot.own_disk() ? "*" : ""));
  }
  return names;
}

TEST(SnapshotCatalogTest, ListsEachSnapshotOnceWithItsChecksum) {
  const std::string root = FreshRoot();
  TestPeer zero(0, root), one(1, root, /*sees_others=*/true);
  const proto::SnapshotPart own = WriteTestSnapshot(one.store(), {7, 4}, 1, 1);
  WriteTestSnapshot(one.store(), {7, 4, 0}, 0, 2);
  WriteTestSnapshot(zero.store(), {7, 4}, 0, 2);
  WriteTestSnapshot(zero.store(), {7, 5}, 0, 3);
  WriteTestSnapshot(zero.store(), {7, 5, 2}, 2, 4);
  WriteTestSnapshot(zero.store(), {8, 4}, 0, 2);
  WriteTestSnapshot(one.store(), {7, UploadStore::kFirstSnapshot}, 1, 1);
  EXPECT_THAT(Listed(one.catalog()), UnorderedElementsAre("4:1*", "4:0*", "5:0", "5:2"));
  EXPECT_THAT(Listed(zero.catalog()), UnorderedElementsAre("4:0*", "5:0*", "5:2*"));
  const proto::SnapshotList list = one.catalog().List(7);
  EXPECT_FALSE(list.incomplete());
  for (const proto::ReadableSnapshot& snapshot : list.snapshots()) {
    if (snapshot.part().ps() != 1) continue;
    EXPECT_EQ(snapshot.part().SerializeAsString(), own.SerializeAsString());
  }
}

TEST(SnapshotCatalogTest, FindsTheSnapshotWithTheChecksumInAnyDirectory) {
  const std::string root = FreshRoot();
  TestPeer zero(0, root), one(1, root, /*sees_others=*/true);
  WriteTestSnapshot(one.store(), {7, 4, 0}, 0, 9);  // A snapshot of another job with the same id.
  const proto::SnapshotPart right = WriteTestSnapshot(zero.store(), {7, 4}, 0, 2);
  const auto found = one.catalog().Open(7, 4, right);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->summary().checksum, right.checksum());
  proto::SnapshotPart other = right;
  other.set_checksum(right.checksum() + 1);
  EXPECT_TRUE(absl::IsNotFound(one.catalog().Open(7, 4, other).status()));
  EXPECT_TRUE(absl::IsNotFound(one.catalog().Open(7, 5, right).status()));
}

TEST(SnapshotCatalogTest, ADamagedSnapshotIsNotListedAndIsDataLossIfItIsTheOnlyOne) {
  const std::string root = FreshRoot();
  TestPeer zero(0, root);
  const proto::SnapshotPart part = WriteTestSnapshot(zero.store(), {7, 4}, 0, 2);
  std::ofstream(root + "/ps-0/job-7.checkpoint-4.sst", std::ios::trunc) << "rubbish";
  EXPECT_THAT(Listed(zero.catalog()), ::testing::IsEmpty());
  EXPECT_TRUE(zero.catalog().List(7).incomplete());
  EXPECT_TRUE(absl::IsDataLoss(zero.catalog().Open(7, 4, part).status()));
}

TEST(SnapshotCatalogTest, AnUnreadableDirectoryMakesTheListIncomplete) {
  const std::string root = FreshRoot();
  TestPeer zero(0, root);
  EXPECT_FALSE(zero.catalog().List(7).incomplete());
  std::filesystem::remove_all(root + "/ps-0");
  EXPECT_TRUE(zero.catalog().List(7).incomplete());
}

TEST(SnapshotCatalogTest, OtherFilesAndDirectoriesAreIgnored) {
  const std::string root = FreshRoot();
  TestPeer zero(0, root, /*sees_others=*/true);
  for (const char* name : {"/ps-", "/ps-x", "/ps-01", "/coordinator", "/ps-3"}) {
    std::filesystem::create_directories(root + name);
  }
  std::ofstream(root + "/ps-4") << "a file";
  EXPECT_THAT(Listed(zero.catalog()), ::testing::IsEmpty());
}

}  // namespace
}  // namespace cairn::parameters

#include "parameters/snapshots/snapshot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/parameters/test_disk.h"
#include "tests/parameters/test_store.h"

namespace cairn::parameters {
namespace {

TestJobOptions Adam() {
  TestJobOptions options;
  options.optimizer = "adam";
  options.learning_rate = 0.1;
  return options;
}

// Reads the states of all blocks of a snapshot.
absl::StatusOr<std::vector<BlockState>> ReadSnapshot(const JobLayout& layout, uint64_t checkpoint,
                                                     const storage::SnapshotStore& store,
                                                     BufferPool* pool) {
  std::vector<BlockState> states;
  for (const BlockSpec& block : layout.blocks()) {
    auto record = store.ReadBlock(layout.job_id(), checkpoint, block.id);
    if (!record.ok()) return record.status();
    auto state = ReadState(layout, block, *std::move(record), pool);
    if (!state.ok()) return state.status();
    states.push_back(*std::move(state));
  }
  return states;
}

TEST(Snapshot, ACutRoundTripsExactly) {
  TestDisk disk;
  TestStore test(Adam());
  for (const int64_t batch : {0, 1, 2, 5, 9}) test.Push(batch, 0.1f * static_cast<float>(batch));
  const auto cut = test.store.MakeCut(7, 1, 3);
  ASSERT_TRUE(cut.ok());
  test.Push(3);
  const auto written = WriteSnapshot(**cut, false, disk.store());
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->blocks, test.layout->blocks().size());
  disk.Reopen();
  const auto states = ReadSnapshot(*test.layout, 3, *disk.store(), &test.pool);
  ASSERT_TRUE(states.ok()) << states.status();
  for (size_t i = 0; i < states->size(); ++i) {
    const BlockState& expected = (*cut)->states[i];
    EXPECT_EQ(Values((*states)[i].values), Values(expected.values));
    ASSERT_EQ(static_cast<bool>((*states)[i].slots), static_cast<bool>(expected.slots));
    if (expected.slots) {
      EXPECT_EQ(Values((*states)[i].slots), Values(expected.slots));
    }
    EXPECT_EQ((*states)[i].version, expected.version);
    EXPECT_TRUE((*states)[i].ledger == expected.ledger);
  }
  // Writing it again has the same result.
  const auto again = WriteSnapshot(**cut, false, disk.store());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == *written);
}

TEST(Snapshot, AStoppedWriteLeavesNothing) {
  TestDisk disk;
  TestStore test(Adam());
  const auto written = WriteSnapshot(**test.store.MakeCut(7, 1, 1), true, disk.store());
  EXPECT_EQ(written.status().code(), absl::StatusCode::kCancelled);
  for (const auto& file : std::filesystem::directory_iterator(disk.directory())) {
    EXPECT_EQ(file.path().filename(), "LOCK");
  }
}

TEST(Snapshot, ASnapshotOfAnotherOptimizerIsRefused) {
  TestDisk disk;
  TestStore test(Adam());
  ASSERT_TRUE(WriteSnapshot(**test.store.MakeCut(7, 1, 1), false, disk.store()).ok());
  const auto states = ReadSnapshot(*MakeLayout({}), 1, *disk.store(), &test.pool);
  EXPECT_EQ(states.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(states.status().ToString().find("hidden/kernel"), std::string::npos) << states.status();
}

TEST(Snapshot, ASnapshotOfAnotherShapeIsRefused) {
  TestDisk disk;
  TestStore test(Adam());
  ASSERT_TRUE(WriteSnapshot(**test.store.MakeCut(7, 1, 1), false, disk.store()).ok());
  TestJobOptions wider = Adam();
  wider.hidden_units = 7;
  const auto states = ReadSnapshot(*MakeLayout(wider), 1, *disk.store(), &test.pool);
  EXPECT_EQ(states.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(states.status().ToString().find("(4, 7)"), std::string::npos) << states.status();
  EXPECT_NE(states.status().ToString().find("(4, 6)"), std::string::npos) << states.status();
}

TEST(Snapshot, AMissingOrDamagedSnapshotIsAnError) {
  TestDisk disk;
  TestStore test(Adam());
  EXPECT_EQ(ReadSnapshot(*test.layout, 1, *disk.store(), &test.pool).status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(WriteSnapshot(**test.store.MakeCut(7, 1, 1), false, disk.store()).ok());
  for (const auto& file : std::filesystem::directory_iterator(disk.directory())) {
    if (file.path().extension() != ".sst") continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(file.file_size() / 3));
    bytes.put('\x5a');
    bytes.put('\xa5');
  }
  EXPECT_EQ(ReadSnapshot(*test.layout, 1, *disk.store(), &test.pool).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cairn::parameters

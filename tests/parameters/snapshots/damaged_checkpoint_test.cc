// A damaged checkpoint is never believed: whatever bit is changed and wherever the file ends, a ps
// either reads exactly the states that were written, or an error.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "parameters/snapshots/snapshot.h"
#include "storage/snapshot_reader.h"
#include "tests/parameters/test_disk.h"
#include "tests/parameters/test_store.h"

namespace cairn::parameters {
namespace {

constexpr uint64_t kCheckpoint = 3;

class DamagedCheckpointTest : public ::testing::Test {
 protected:
  DamagedCheckpointTest() : trained_(Job()) {
    for (const int64_t batch : {0, 1, 2, 5, 9}) {
      trained_.Push(batch, 0.1f * static_cast<float>(batch + 1));
    }
    const auto cut = *trained_.store.MakeCut(7, 1, kCheckpoint);
    written_ = *WriteSnapshot(*cut, false, disk_.store());
    for (const BlockState& state : cut->states) expected_.push_back(Bits(state));
    path_ = disk_.directory() + "/job-7.checkpoint-3.sst";
    std::ostringstream bytes;
    bytes << std::ifstream(path_, std::ios::binary).rdbuf();
    bytes_ = bytes.str();
    file_ = open(path_.c_str(), O_WRONLY);
    EXPECT_GE(file_, 0);
  }
  ~DamagedCheckpointTest() override { close(file_); }

  static TestJobOptions Job() {
    TestJobOptions options;
    options.optimizer = "adam";
    options.learning_rate = 0.1;
    return options;
  }

  static std::string Bits(const BlockState& state) {
    std::string bits = absl::StrCat(state.version, " ", state.ledger.ToProto().ShortDebugString());
    for (const BlockBuffer& buffer : {state.values, state.slots}) {
      if (!buffer) continue;
      bits.append(reinterpret_cast<const char*>(buffer.data()), buffer.count() * sizeof(float));
    }
    return bits;
  }

  // As a ps loads its part of a checkpoint: the file must have the checksum of the manifest, and
  // every block must be readable.
  absl::StatusOr<std::vector<std::string>> Load() {
    const auto reader = storage::SnapshotReader::Open(rocksdb::Env::Default(), path_,
                                                      {.job_id = 7, .checkpoint = kCheckpoint});
    if (!reader.ok()) return reader.status();
    if (!((*reader)->summary() == written_)) return absl::DataLossError("another checksum");
    const bool verified = (*reader)->Verify().ok();
    std::vector<std::string> states;
    absl::Status status;
    for (const BlockSpec& block : trained_.layout->blocks()) {
      auto record = (*reader)->ReadBlock(block.id);
      if (!record.ok()) status.Update(record.status());
      if (!record.ok()) continue;
      const auto state = ReadState(*trained_.layout, block, *std::move(record), &trained_.pool);
      if (!state.ok()) status.Update(state.status());
      if (!state.ok()) continue;
      states.push_back(Bits(*state));
      // Also where another block is damaged.
      EXPECT_EQ(states.back(), expected_[&block - trained_.layout->blocks().data()]);
    }
    EXPECT_TRUE(status.ok() || !verified) << status;
    if (!status.ok()) return status;
    return states;
  }

  // Returns whether the damage was found.
  bool Check() {
    const auto states = Load();
    if (states.ok()) {
      EXPECT_EQ(*states, expected_);
    }
    return !states.ok();
  }

  void Overwrite(size_t offset, std::string_view bytes) {
    ASSERT_EQ(pwrite(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
  }

  bool Flip(size_t bit) {
    const char damaged = static_cast<char>(bytes_[bit / 8] ^ (1 << bit % 8));
    Overwrite(bit / 8, {&damaged, 1});
    const bool found = Check();
    Overwrite(bit / 8, std::string_view(bytes_).substr(bit / 8, 1));
    return found;
  }

  bool Truncate(size_t size) {
    EXPECT_EQ(ftruncate(file_, static_cast<off_t>(size)), 0);
    const bool found = Check();
    Overwrite(size, std::string_view(bytes_).substr(size));
    return found;
  }

  // A few changed bits are in no content: RocksDB's padding, for example.
  void ExpectFound(int64_t found, int64_t damages) {
    EXPECT_GT(found, damages * 9 / 10);
    ::testing::Test::RecordProperty("damages", static_cast<int>(damages));
    ::testing::Test::RecordProperty("found", static_cast<int>(found));
    printf("%d damages, %d found, the others without effect\n", static_cast<int>(damages),
           static_cast<int>(found));
  }

  TestDisk disk_;
  TestStore trained_;
  storage::SnapshotSummary written_;
  std::vector<std::string> expected_;
  std::string path_;
  std::string bytes_;
  int file_ = -1;
};

TEST_F(DamagedCheckpointTest, OneBitOfEveryByteAndEveryLength) {
  ASSERT_FALSE(Check());
  int64_t found = 0;
  for (size_t byte = 0; byte < bytes_.size(); ++byte) {
    found += Flip(8 * byte + RandomBelow(1, byte, 8));
    EXPECT_TRUE(Truncate(byte)) << "only " << byte << " bytes";
    if (HasFailure()) return;
  }
  ExpectFound(found, static_cast<int64_t>(bytes_.size()));
  ASSERT_FALSE(Check());
}

// Several minutes: run it with --gtest_also_run_disabled_tests.
TEST_F(DamagedCheckpointTest, DISABLED_AHundredThousandDamages) {
  constexpr int64_t kDamages = 100'000;
  int64_t found = 0;
  for (int64_t i = 0; i < kDamages && !HasFailure(); ++i) {
    const uint64_t draw = RandomBelow(2, i, bytes_.size() * 9);
    // One in nine is a truncation.
    if (draw < bytes_.size() * 8) {
      found += Flip(draw);
    } else {
      found += Truncate(draw - bytes_.size() * 8);
    }
  }
  ExpectFound(found, kDamages);
}

}  // namespace
}  // namespace cairn::parameters

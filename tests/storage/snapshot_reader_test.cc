#include "storage/snapshot_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>

#include <filesystem>
#include <map>
#include <string>

#include "storage/snapshot_table.h"

namespace cairn::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr SnapshotName kName{3, 8};

// Writes tables without SnapshotWriter, so that they can be invalid.
class SnapshotReaderTest : public testing::Test {
 protected:
  SnapshotReaderTest() { std::filesystem::remove(path_); }

  SnapshotIndex::Entry AddBlock(uint32_t id, const std::string& header,
                                const std::string& payload) {
    return EncodeRecord(id, header, {payload}, &table_[BlockKey(kName, id)]);
  }

  absl::StatusOr<std::unique_ptr<SnapshotReader>> Open() {
    const rocksdb::Options options = SnapshotTableOptions(nullptr);
    rocksdb::SstFileWriter writer(rocksdb::EnvOptions(options), options);
    EXPECT_TRUE(writer.Open(path_).ok());
    for (const auto& [key, value] : table_) EXPECT_TRUE(writer.Put(key, value).ok());
    EXPECT_TRUE(writer.Finish().ok());
    return SnapshotReader::Open(rocksdb::Env::Default(), path_, kName);
  }

  const std::string path_ = testing::TempDir() + "/snapshot_reader_test.sst";
  std::map<std::string, std::string> table_;
};

TEST_F(SnapshotReaderTest, BlocksAreFoundById) {
  const SnapshotIndex index{{AddBlock(2, "h2", "two"), AddBlock(300, "h300", "")}};
  table_[IndexKey(kName)] = EncodeIndex(index);
  const auto reader = Open();
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->summary(), index.Summary());
  EXPECT_THAT((*reader)->ListBlocks(), ElementsAre(2, 300));
  EXPECT_EQ((*reader)->ReadBlock(2)->header(), "h2");
  EXPECT_EQ((*reader)->ReadBlock(2)->payload(), "two");
  EXPECT_EQ((*reader)->ReadBlock(300)->payload(), "");
  EXPECT_EQ((*reader)->ReadBlock(3).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE((*reader)->Verify().ok());
}

TEST_F(SnapshotReaderTest, AMissingFileIsNotFound) {
  const absl::Status status = SnapshotReader::Open(rocksdb::Env::Default(), path_, kName).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
}

TEST_F(SnapshotReaderTest, ATableWithoutAnIndexIsDataLoss) {
  AddBlock(2, "h2", "two");
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SnapshotReaderTest, ADamagedIndexIsDataLoss) {
  table_[IndexKey(kName)] = EncodeIndex({{AddBlock(2, "h2", "two")}});
  table_[IndexKey(kName)][3] ^= 1;
  const absl::Status status = Open().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
}

TEST_F(SnapshotReaderTest, ABlockMissingFromTheFileIsReportedWithItsId) {
  const SnapshotIndex index{{AddBlock(2, "h2", "two"), AddBlock(4, "h4", "four")}};
  table_[IndexKey(kName)] = EncodeIndex(index);
  table_.erase(BlockKey(kName, 2));
  const auto reader = Open();
  ASSERT_TRUE(reader.ok()) << reader.status();
  const absl::Status status = (*reader)->ReadBlock(2).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("block 2"));
  EXPECT_EQ((*reader)->Verify().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*reader)->ReadBlock(4)->payload(), "four");
}

TEST_F(SnapshotReaderTest, SwappedBlocksAreReported) {
  const SnapshotIndex index{{AddBlock(2, "h2", "two"), AddBlock(4, "h4", "six")}};
  table_[IndexKey(kName)] = EncodeIndex(index);
  std::swap(table_[BlockKey(kName, 2)], table_[BlockKey(kName, 4)]);
  const auto reader = Open();
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->ReadBlock(2).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ((*reader)->ReadBlock(4).status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cairn::storage

#include "storage/snapshot_footer.h"

#include <gtest/gtest.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>

#include <fstream>
#include <iterator>
#include <string>

#include "storage/snapshot_table.h"

namespace cairn::storage {
namespace {

constexpr int kKindOfChecksum = 0;
constexpr int kFirstPlace = 1;
constexpr int kVersion = 41;

// A table file that RocksDB writes with SnapshotTableOptions.
std::string TableFile() {
  const rocksdb::Options options = SnapshotTableOptions(nullptr);
  const std::string path = testing::TempDir() + "/snapshot_footer_test.sst";
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(options), options);
  EXPECT_TRUE(writer.Open(path).ok() && writer.Put("key", "value").ok() && writer.Finish().ok());
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

class SnapshotFooterTest : public testing::Test {
 protected:
  // Returns the valid footer with one byte changed.
  absl::Status CheckWith(int place, char byte) const {
    std::string footer = footer_;
    footer[place] = byte;
    return CheckSnapshotFooter(footer, file_.size()).status();
  }

  const std::string file_ = TableFile();
  const std::string footer_ = file_.substr(file_.size() - kSnapshotFooterBytes);
};

TEST_F(SnapshotFooterTest, TheFooterOfRocksdbIsValid) {
  EXPECT_TRUE(CheckSnapshotFooter(footer_, file_.size()).ok());
}

TEST_F(SnapshotFooterTest, OtherChecksumTypesAreRefused) {
  for (const char kind : {0, 1, 2, 3, 5, -1}) {
    EXPECT_TRUE(absl::IsDataLoss(CheckWith(kKindOfChecksum, kind))) << static_cast<int>(kind);
  }
}

TEST_F(SnapshotFooterTest, AChangedByteOfThePropertiesIsDetected) {
  const auto place = CheckSnapshotFooter(footer_, file_.size());
  ASSERT_TRUE(place.ok()) << place.status();
  const std::string properties = file_.substr(place->offset, place->bytes);
  EXPECT_NE(properties.find("rocksdb."), std::string::npos);
  EXPECT_TRUE(CheckSnapshotProperties(properties).ok());
  for (size_t i = 0; i < properties.size(); ++i) {
    std::string changed = properties;
    changed[i] ^= 1;
    EXPECT_TRUE(absl::IsDataLoss(CheckSnapshotProperties(changed))) << i;
  }
  EXPECT_TRUE(absl::IsDataLoss(CheckSnapshotProperties("")));
}

TEST_F(SnapshotFooterTest, AnotherFormatIsRefused) {
  EXPECT_TRUE(absl::IsDataLoss(CheckWith(kVersion, 4)));
  EXPECT_TRUE(absl::IsDataLoss(CheckWith(kVersion + 4, 0)));
}

TEST_F(SnapshotFooterTest, HandlesOutsideOfTheFileAreRefused) {
  EXPECT_TRUE(absl::IsDataLoss(CheckSnapshotFooter(footer_, kSnapshotFooterBytes).status()));
  std::string endless = footer_;
  endless.replace(kFirstPlace, kVersion - kFirstPlace, kVersion - kFirstPlace, '\xff');
  EXPECT_TRUE(absl::IsDataLoss(CheckSnapshotFooter(endless, file_.size()).status()));
}

TEST_F(SnapshotFooterTest, AFileThatIsTooShortIsRefused) {
  EXPECT_TRUE(
      absl::IsDataLoss(CheckSnapshotFooter(footer_.substr(1), footer_.size() - 1).status()));
  EXPECT_TRUE(absl::IsDataLoss(CheckSnapshotFooter("", 0).status()));
}

}  // namespace
}  // namespace cairn::storage

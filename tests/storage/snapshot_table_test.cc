#include "storage/snapshot_table.h"

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table_properties.h>

#include <filesystem>
#include <string>

namespace cairn::storage {
namespace {

TEST(SnapshotTableTest, TheDefaultEnvIsUsedForNull) {
  EXPECT_EQ(SnapshotTableOptions(nullptr).env, rocksdb::Env::Default());
}

TEST(SnapshotTableTest, ATableIsUncompressedAndHasLittleOverhead) {
  const rocksdb::Options options = SnapshotTableOptions(nullptr);
  const std::string path = testing::TempDir() + "/snapshot_table_test.sst";
  const std::string value(1 << 20, 'x');
  rocksdb::SstFileWriter writer(rocksdb::EnvOptions(options), options);
  ASSERT_TRUE(writer.Open(path).ok());
  for (char key = 'a'; key < 'e'; ++key) ASSERT_TRUE(writer.Put(std::string(1, key), value).ok());
  ASSERT_TRUE(writer.Finish().ok());
  const uint64_t bytes = std::filesystem::file_size(path);
  EXPECT_GT(bytes, 4u << 20);
  EXPECT_LT(bytes, (4u << 20) + 4096);
  rocksdb::SstFileReader reader(options);
  ASSERT_TRUE(reader.Open(path).ok());
  EXPECT_EQ(reader.GetTableProperties()->compression_name, "NoCompression");
  EXPECT_EQ(reader.GetTableProperties()->num_data_blocks, 4u);
}

}  // namespace
}  // namespace cairn::storage

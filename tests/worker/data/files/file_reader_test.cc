#include "worker/data/files/file_reader.h"

#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::WriteDataFile;

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

TEST(FileReaderTest, ReadsAFileLargerThanItsChunksPlainAndGzip) {
  std::string bytes;
  while (bytes.size() < (size_t{40} << 20)) bytes += "0123456789abcdefghijklm";
  for (const std::string& contents : {bytes, Gzip(bytes)}) {
    auto reader = FileReader::Open(WriteDataFile("large", contents));
    ASSERT_TRUE(reader.ok()) << reader.status();
    std::string out;
    ASSERT_TRUE((*reader)->Read(5, &out).ok());
    EXPECT_EQ(out, "01234");
    ASSERT_TRUE((*reader)->Read(kAll, &out).ok());
    EXPECT_TRUE(out == bytes);
    ASSERT_TRUE((*reader)->Read(1, &out).ok());
    EXPECT_EQ(out.size(), bytes.size());
  }
}

TEST(FileReaderTest, WhatFollowsAGzipStreamIsReadAsTheFormatSays) {
  const std::string two = Gzip("first") + Gzip("second");
  auto reader = FileReader::Open(WriteDataFile("two.gz", two));
  ASSERT_TRUE(reader.ok());
  std::string out;
  ASSERT_TRUE((*reader)->Read(kAll, &out).ok());
  EXPECT_EQ(out, "firstsecond");
}

TEST(FileReaderTest, ACutGzipFileIsDataLoss) {
  const std::string packed = Gzip(std::string(1000, 'x') + "end");
  auto reader = FileReader::Open(WriteDataFile("cut.gz", packed.substr(0, packed.size() - 10)));
  ASSERT_TRUE(reader.ok());
  std::string out;
  EXPECT_EQ((*reader)->Read(kAll, &out).code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace cairn::worker

#include "worker/data/files/file_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "tests/common/faulty_files.h"
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

TEST(FileReaderTest, ACompressionThatIsNamedIsNotGuessed) {
  const std::string path = WriteDataFile("plain", "\x1f\x8b is plain text here");
  const auto reader = FileReader::Open(path, Compression::kNone);
  ASSERT_TRUE(reader.ok()) << reader.status();
  std::string bytes;
  EXPECT_TRUE((*reader)->Read(100, &bytes).ok());
  EXPECT_EQ(bytes, "\x1f\x8b is plain text here");
  const auto zlib = FileReader::Open(path, Compression::kZlib);
  const std::string error((*zlib)->Read(100, &bytes).message());
  EXPECT_NE(error.find("the zlib data are damaged"), std::string::npos) << error;
  EXPECT_TRUE(FileReader::Open(WriteDataFile("empty", ""), Compression::kNone).ok());
}

TEST(FileReaderTest, ACutGzipFileIsDataLoss) {
  const std::string packed = Gzip(std::string(1000, 'x') + "end");
  auto reader = FileReader::Open(WriteDataFile("cut.gz", packed.substr(0, packed.size() - 10)));
  ASSERT_TRUE(reader.ok());
  std::string out;
  EXPECT_EQ((*reader)->Read(kAll, &out).code(), absl::StatusCode::kDataLoss);
}

TEST(FileReaderTest, BytesAfterAGzipStreamArePadding) {
  auto reader = FileReader::Open(WriteDataFile("padded.gz", Gzip("all") + std::string(512, '\0')));
  ASSERT_TRUE(reader.ok());
  std::string out;
  ASSERT_TRUE((*reader)->Read(kAll, &out).ok());
  EXPECT_EQ(out, "all");
}

TEST(FileReaderTest, ADamagedGzipFileIsDataLoss) {
  std::string packed = Gzip(std::string(1000, 'x') + "end");
  packed[packed.size() - 6] ^= 1;  // The checksum.
  auto reader = FileReader::Open(WriteDataFile("damaged.gz", packed));
  ASSERT_TRUE(reader.ok());
  std::string out;
  const absl::Status status = (*reader)->Read(kAll, &out);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.message().find("incorrect data check"), std::string::npos) << status;
}

// The contents must be the same wherever the reads of a compressed file fail for a while.
TEST(FileReaderTest, FailedReadsAreRepeatedWithoutLossOfData) {
  std::string bytes;
  for (int64_t i = 0; bytes.size() < (size_t{4} << 20); ++i) bytes += std::to_string(i * 7919);
  const testing::FaultyFiles faults(::testing::TempDir() + "file_reader_rules");
  faults.Clear();
  setenv("CAIRN_FAULTY_FILES", (::testing::TempDir() + "file_reader_rules").c_str(), 1);
  for (const std::string& contents : {bytes, Gzip(bytes)}) {
    auto reader = FileReader::Open(WriteDataFile("failing.data", contents));
    ASSERT_TRUE(reader.ok());
    std::string out;
    for (int i = 0; i < 5; ++i) {
      const int fired = faults.fired();
      faults.Set({{"read", "failing.data", EIO}});
      std::thread repair([&] {
        while (faults.fired() == fired) std::this_thread::yield();
        faults.Clear();
      });
      ASSERT_TRUE((*reader)->Read(900'000, &out).ok());
      repair.join();
    }
    EXPECT_TRUE(out == bytes.substr(0, out.size()));
    EXPECT_EQ(out.size(), std::min<size_t>(bytes.size(), 5 * 900'000));
  }
  unsetenv("CAIRN_FAULTY_FILES");
}

}  // namespace
}  // namespace cairn::worker

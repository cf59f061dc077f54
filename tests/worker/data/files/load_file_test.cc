#include "worker/data/files/load_file.h"

#include <fstream>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::Gzip;
using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

std::string Contents(const FileBytes& file) {
  std::string scratch;
  return std::string(*file.Read(0, file.size(), &scratch), file.size());
}

TEST(LoadFileTest, PlainAndGzipFilesHoldTheSameWithAndWithoutMemory) {
  std::string bytes;
  while (bytes.size() < (size_t{3} << 20)) bytes += std::to_string(bytes.size());
  for (const uint64_t memory : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1} << 30}) {
    DataStorage storage({.memory_bytes = memory, .spool_folder = ::testing::TempDir()});
    for (const std::string& path :
         {WriteDataFile("plain", bytes), WriteDataFile("packed.gz", Gzip(bytes))}) {
      const auto file = LoadFile(path, &storage);
      ASSERT_TRUE(file.ok()) << file.status();
      EXPECT_TRUE(Contents(**file) == bytes);
      EXPECT_EQ((*file)->in_memory(), memory == uint64_t{1} << 30);
    }
  }
}

TEST(LoadFileTest, AGzipNameWithOtherContentsIsRefused) {
  DataStorage storage({});
  const auto file = LoadFile(WriteDataFile("no.gz", "plain text"), &storage);
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr("its name says gzip, but it begins with bytes 706c"));
}

TEST(LoadFileTest, WhatUnpacksBeyondTheLimitIsRefused) {
  DataStorage storage({.memory_bytes = 0, .spool_bytes = 1 << 20});
  const auto file =
      LoadFile(WriteDataFile("bomb.gz", Gzip(std::string(size_t{4} << 20, 0))), &storage);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(LoadFileTest, AFileOfLimitedSizeIsReadWholeWithItsFingerprint) {
  for (const size_t size : {size_t{100}, size_t{3} << 20}) {
    const std::string path = WriteDataFile("whole", std::string(size, 'x'));
    const auto file = ReadWholeFile(path, size);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE((*file)->in_memory());
    EXPECT_TRUE(Contents(**file) == std::string(size, 'x'));
    EXPECT_EQ(*ContentsFingerprint(**file), *FileFingerprint(path));
  }
  const absl::Status status = ReadWholeFile(WriteDataFile("whole", "abcd"), 3).status();
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("whole: it has 4 bytes, at most 3 are read"));
}

TEST(LoadFileTest, ASizeNeedsARegularFile) {
  EXPECT_EQ(*FileSize(WriteDataFile("sized", "abc")), 3u);
  EXPECT_TRUE(absl::IsNotFound(FileSize(::testing::TempDir() + "/gone").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(FileSize(::testing::TempDir()).status()));
}

TEST(LoadFileTest, AnEmptyFileHasAFingerprint) {
  const auto print = FileFingerprint(WriteDataFile("empty", ""));
  ASSERT_TRUE(print.ok()) << print.status();
  EXPECT_NE(*print, *FileFingerprint(WriteDataFile("zero", std::string(1, '\0'))));
}

TEST(LoadFileTest, FingerprintsDifferByContentsAndSizeNotByName) {
  std::string bytes(size_t{2} << 20, 'a');
  const auto first = FileFingerprint(WriteDataFile("one", bytes));
  EXPECT_EQ(*first, *FileFingerprint(WriteDataFile("two", bytes)));
  std::set<uint64_t> seen = {*first};
  const std::string longer = bytes + "a";
  EXPECT_TRUE(seen.insert(*FileFingerprint(WriteDataFile("one", longer))).second);
  for (const size_t at : {size_t{0}, bytes.size() - 1}) {
    bytes[at] = 'b';
    EXPECT_TRUE(seen.insert(*FileFingerprint(WriteDataFile("one", bytes))).second);
  }
  for (const char* small : {"a", "b", "ab"}) {
    EXPECT_TRUE(seen.insert(*FileFingerprint(WriteDataFile("one", small))).second);
  }
}

}  // namespace
}  // namespace cairn::worker

#include "worker/data/files/spool.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "common/failpoint.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/faulty_files.h"

namespace cairn::worker {
namespace {

// Contents appended in pieces are read back, from memory and from disk.
void ExpectKept(uint64_t memory_bytes, bool in_memory) {
  const std::string folder = ::testing::TempDir() + "/spool";
  std::filesystem::create_directories(folder);
  DataStorage storage({.memory_bytes = memory_bytes, .spool_folder = folder});
  Spool spool("x.gz", &storage);
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    const std::string piece = std::to_string(i * i) + ";";
    ASSERT_TRUE(spool.Append(piece).ok());
    all += piece;
  }
  const auto file = spool.Finish();
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->in_memory(), in_memory);
  EXPECT_EQ((*file)->size(), all.size());
  std::string scratch;
  EXPECT_EQ(std::string(*(*file)->Read(0, all.size(), &scratch), all.size()), all);
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "spool files have no names";
}

TEST(SpoolTest, KeepsBytesInMemory) { ExpectKept(1 << 20, true); }
TEST(SpoolTest, KeepsBytesOnDiskIfThereIsNoMemory) { ExpectKept(0, false); }
TEST(SpoolTest, MovesToDiskWhenMemoryEnds) { ExpectKept(1000, false); }

int OpenDescriptors() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return static_cast<int>(std::distance(begin(descriptors), end(descriptors)));
}

// A job of many files has more contents than a process may have open files.
TEST(SpoolTest, AllSpoolsShareOneFile) {
  constexpr int kSpools = 50;
  DataStorage storage({.memory_bytes = 0, .spool_folder = ::testing::TempDir()});
  const int before = OpenDescriptors();
  std::vector<std::unique_ptr<Spool>> spools;
  std::vector<std::string> contents(kSpools);
  for (int i = 0; i < kSpools; ++i) spools.push_back(std::make_unique<Spool>("x", &storage));
  // Of each a piece at a time, so that their chunks are mixed; some end where a chunk ends.
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < kSpools; ++i) {
      const size_t bytes = i == 0 ? SharedSpool::kChunkBytes : 9973 * i + 131 * round;
      const std::string piece(bytes, static_cast<char>('a' + (i + 7 * round) % 26));
      ASSERT_TRUE(spools[i]->Append(piece).ok());
      contents[i] += piece;
    }
  }
  std::vector<std::shared_ptr<const FileBytes>> files;
  for (auto& spool : spools) files.push_back(*spool->Finish());
  spools.clear();
  EXPECT_EQ(OpenDescriptors(), before + 1);
  std::string scratch;
  for (int i = 0; i < kSpools; ++i) {
    ASSERT_EQ(files[i]->size(), contents[i].size());
    EXPECT_EQ(std::string(*files[i]->Read(0, contents[i].size(), &scratch), contents[i].size()),
              contents[i]);
    const size_t middle = contents[i].size() / 2;
    if (middle == 0) continue;
    EXPECT_EQ(std::string(*files[i]->Read(middle - 1, 2, &scratch), 2),
              contents[i].substr(middle - 1, 2));
  }
  files.clear();
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(SpoolTest, ContentsThatAreNoLongerNeededTakeNoRoomOnTheDisk) {
  const std::string folder = ::testing::TempDir();
  DataStorage storage({.memory_bytes = 0, .spool_folder = folder});
  Spool kept("kept", &storage);
  ASSERT_TRUE(kept.Append("1").ok());
  const auto blocks = [&storage] {
    MutexLock lock(&storage.spool_slot().mutex);
    struct stat status;
    EXPECT_EQ(fstat(storage.spool_slot().file.lock()->descriptor(), &status), 0);
    return status.st_blocks;
  };
  {
    Spool dropped("dropped", &storage);
    ASSERT_TRUE(dropped.Append(std::string(3 << 20, 'x')).ok());
    EXPECT_GE(blocks(), (3 << 20) / 512);
  }
  EXPECT_LT(blocks(), (1 << 20) / 512);
}

TEST(SpoolTest, AMissingFolderIsNamed) {
  DataStorage storage({.memory_bytes = 0, .spool_folder = "/no/such/folder"});
  Spool spool("x.gz", &storage);
  const absl::Status status = spool.Append("1");
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("/no/such/folder"));
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("x.gz"));
}

// A file that could not be read is read again, perhaps often.
TEST(SpoolTest, WhatIsNotFinishedTakesNoRoom) {
  DataStorage storage(
      {.memory_bytes = 100, .spool_bytes = 500, .spool_folder = ::testing::TempDir()});
  for (int i = 0; i < 10; ++i) {
    Spool in_memory("x.gz", &storage);
    ASSERT_TRUE(in_memory.Append(std::string(80, 'x')).ok());
    Spool on_disk("y.gz", &storage);
    ASSERT_TRUE(on_disk.Append(std::string(400, 'y')).ok());
  }
  Spool kept("z.gz", &storage);
  ASSERT_TRUE(kept.Append(std::string(90, 'z')).ok());
  ASSERT_TRUE((*kept.Finish())->in_memory());
  EXPECT_FALSE(storage.TakeMemory(20)) << "what was finished takes room";
}

TEST(SpoolTest, AFailedWriteIsReported) {
  DataStorage storage({.memory_bytes = 0, .spool_folder = ::testing::TempDir()});
  Spool spool("x.gz", &storage);
  ASSERT_TRUE(ArmFailpoint("spool.write=error@2").ok());
  EXPECT_TRUE(spool.Append("1").ok());
  EXPECT_FALSE(spool.Append("2").ok());
  EXPECT_EQ(FailpointFired("spool.write"), 1);
  DisarmFailpoints();
}

TEST(SpoolTest, AnErrorOfTheDiskAndAFullDiskMayPassAndAFolderThatIsClosedMayNot) {
  const std::string rules = ::testing::TempDir() + "/spool_test.rules";
  ASSERT_EQ(setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1), 0);
  const testing::FaultyFiles faults(rules);
  const std::string folder = ::testing::TempDir() + "/faulty_spool";
  std::filesystem::create_directories(folder);
  DataStorage storage({.memory_bytes = 0, .spool_folder = folder});
  for (const char* operation : {"open", "write"}) {
    for (const auto& [error, code] : {std::pair(EIO, absl::StatusCode::kUnavailable),
                                      std::pair(ENOSPC, absl::StatusCode::kUnavailable),
                                      std::pair(EDQUOT, absl::StatusCode::kUnavailable),
                                      std::pair(EACCES, absl::StatusCode::kResourceExhausted)}) {
      faults.Set({{operation, "/faulty_spool", error}});
      EXPECT_EQ(Spool("x.gz", &storage).Append("1").code(), code) << operation << " " << error;
    }
  }
  EXPECT_EQ(faults.fired(), 8);
  faults.Set({{"write", "/faulty_spool", ENOSPC}});
  EXPECT_EQ(Spool("x.gz", &storage).Append("1").message(),
            "data file x.gz: cannot write to the spool folder " + folder +
                ": No space left on device; make room there, give the worker another folder with "
                "--spool, or more memory with --data_memory");
  faults.Clear();
  unsetenv("CAIRN_FAULTY_FILES");
}

TEST(SpoolTest, MoreThanItsLimitIsRefused) {
  DataStorage storage({.memory_bytes = 0, .spool_bytes = 2, .spool_folder = ::testing::TempDir()});
  Spool spool("x.gz", &storage);
  EXPECT_TRUE(spool.Append("12").ok());
  EXPECT_EQ(spool.Append("3").code(), absl::StatusCode::kResourceExhausted);
}

TEST(SpoolTest, PiecesOfAFileAreReadWhileOthersAreAdded) {
  const std::string folder = ::testing::TempDir() + "/pieces";
  std::filesystem::create_directories(folder);
  DataStorage storage({.spool_bytes = 12, .spool_folder = folder});
  const auto file = SpoolFile::Create("x", &storage);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto first = (*file)->Add("first");
  const auto second = (*file)->Add("second");
  ASSERT_TRUE(first.ok() && second.ok());
  std::string piece;
  EXPECT_TRUE((*file)->Read(*second, 6, &piece).ok());
  EXPECT_EQ(piece, "second");
  EXPECT_TRUE((*file)->Read(*first, 5, &piece).ok());
  EXPECT_EQ(piece, "first");
  EXPECT_TRUE(absl::IsDataLoss((*file)->Read(*second, 7, &piece)));
  EXPECT_TRUE(absl::IsResourceExhausted((*file)->Add("third").status()));
  // A piece that was not written takes no room.
  ASSERT_TRUE(ArmFailpoint("spool.write=error@1").ok());
  EXPECT_FALSE((*file)->Add("4").ok());
  DisarmFailpoints();
  const auto last = (*file)->Add("5");
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_TRUE((*file)->Read(*last, 1, &piece).ok());
  EXPECT_EQ(piece, "5");
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "spool files have no names";
}

}  // namespace
}  // namespace cairn::worker

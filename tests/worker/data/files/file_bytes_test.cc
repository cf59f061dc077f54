#include "worker/data/files/file_bytes.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"
#include "worker/data/files/file_reader.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

std::shared_ptr<const FileBytes> OnDisk(const std::string& path) {
  return *FileBytes::OnDisk(path, *OpenDataFile(path));
}

TEST(FileBytesTest, ReadsTheSameFromMemoryAndFromDisk) {
  const std::string bytes = "0123456789";
  for (const auto& file :
       {FileBytes::InMemory("digits", bytes), OnDisk(WriteDataFile("digits", bytes))}) {
    std::string scratch;
    EXPECT_EQ(file->size(), 10u);
    EXPECT_EQ(std::string(*file->Read(3, 4, &scratch), 4), "3456");
    EXPECT_EQ(std::string(*file->Read(9, 1, &scratch), 1), "9");
    EXPECT_TRUE(file->CheckUnchanged().ok());
  }
}

TEST(FileBytesTest, AFileThatChangesUnderneathIsNoticed) {
  const std::string path = WriteDataFile("grows", "abc");
  const auto file = OnDisk(path);
  std::ofstream(path, std::ios::app) << "d";
  EXPECT_THAT(std::string(file->CheckUnchanged().message()), HasSubstr("was changed while"));
  EXPECT_THAT(std::string(file->CheckUnchanged().message()), HasSubstr(path));
}

TEST(FileBytesTest, AFileOfTheSameSizeButAnotherTimeIsDetected) {
  const std::string path = WriteDataFile("touched", "abc");
  const auto file = OnDisk(path);
  std::filesystem::last_write_time(
      path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
  EXPECT_FALSE(file->CheckUnchanged().ok());
}

// A file that others could change would have to be asked for its time.
TEST(FileBytesTest, OnlyAFileOfOthersCanChange) {
  const std::string path = WriteDataFile("abc", "abc");
  const auto file =
      FileBytes::Computed("computed", 3, [](uint64_t offset, size_t count, std::string* scratch) {
        *scratch = std::string("abc").substr(offset, count);
        return absl::StatusOr<const char*>(scratch->data());
      });
  EXPECT_FALSE(file->in_memory());
  std::string scratch;
  EXPECT_EQ(std::string(*file->Read(1, 2, &scratch), 2), "bc");
  EXPECT_TRUE(OnDisk(path)->can_change());
  for (const auto& each : {file, FileBytes::InMemory("memory", "abc"),
                           FileBytes::Deferred("later", 3, [file] { return file; })}) {
    EXPECT_FALSE(each->can_change());
    EXPECT_TRUE(each->CheckUnchanged().ok());
  }
}

TEST(FileBytesTest, AFileThatIsCutOffIsAnErrorAndNoCrash) {
  const std::string path = WriteDataFile("cut", std::string(10000, 'x'));
  const auto file = OnDisk(path);
  std::filesystem::resize_file(path, 5000);
  std::string scratch;
  const auto read = file->Read(4000, 2000, &scratch);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("byte 5000: it became shorter"));
}

TEST(FileBytesTest, DeferredContentsAreOpenedOnceAtTheFirstRead) {
  int opened = 0;
  bool fails = true;
  const auto file =
      FileBytes::Deferred("later", 3, [&]() -> absl::StatusOr<std::shared_ptr<const FileBytes>> {
        ++opened;
        if (fails) return absl::UnavailableError("not now");
        return FileBytes::InMemory("later", "abc");
      });
  EXPECT_EQ(file->size(), 3u);
  EXPECT_FALSE(file->in_memory());
  EXPECT_TRUE(file->CheckUnchanged().ok());
  EXPECT_EQ(opened, 0);
  std::string scratch;
  EXPECT_TRUE(absl::IsUnavailable(file->Read(0, 1, &scratch).status()));
  fails = false;
  EXPECT_EQ(std::string(*file->Read(1, 2, &scratch), 2), "bc");
  EXPECT_EQ(std::string(*file->Read(0, 1, &scratch), 1), "a");
  EXPECT_EQ(opened, 2);
}

TEST(FileBytesTest, DeferredContentsCanBeOpenedBeforeTheFirstRead) {
  int opened = 0;
  const auto file = FileBytes::Deferred("later", 3, [&] {
    ++opened;
    return FileBytes::InMemory("later", "abc");
  });
  EXPECT_FALSE(file->is_open());
  EXPECT_TRUE(file->Prepare().ok());
  EXPECT_TRUE(file->is_open());
  EXPECT_EQ(opened, 1);
  std::string scratch;
  EXPECT_EQ(std::string(*file->Read(1, 2, &scratch), 2), "bc");
  EXPECT_TRUE(file->Prepare().ok());
  EXPECT_EQ(opened, 1);
  EXPECT_TRUE(FileBytes::InMemory("memory", "abc")->Prepare().ok());
  const auto broken = FileBytes::Deferred("broken", 3, [] { return absl::UnavailableError("no"); });
  EXPECT_TRUE(absl::IsUnavailable(broken->Prepare()));
  EXPECT_FALSE(broken->is_open());
  EXPECT_TRUE(FileBytes::InMemory("memory", "abc")->is_open());
}

TEST(FileBytesTest, DeferredContentsOfAnotherSizeAreAnError) {
  const auto file =
      FileBytes::Deferred("later", 4, [] { return FileBytes::InMemory("later", "abc"); });
  std::string scratch;
  EXPECT_THAT(std::string(file->Read(0, 1, &scratch).status().message()),
              HasSubstr("data file later: 3 bytes of numbers, expected 4"));
}

TEST(FileBytesTest, ComputedContentsAreThoseOfTheFunction) {
  const auto file = FileBytes::Computed(
      "sums", 8,
      [](uint64_t offset, size_t count, std::string* scratch) -> absl::StatusOr<const char*> {
        if (offset == 5) return absl::DataLossError("byte 5");
        *scratch = std::string(count, static_cast<char>('a' + offset));
        return scratch->data();
      });
  EXPECT_EQ(file->size(), 8u);
  EXPECT_FALSE(file->in_memory());
  EXPECT_TRUE(file->CheckUnchanged().ok());
  std::string scratch;
  EXPECT_EQ(std::string(*file->Read(2, 3, &scratch), 3), "ccc");
  EXPECT_TRUE(absl::IsDataLoss(file->Read(5, 1, &scratch).status()));
}

}  // namespace
}  // namespace cairn::worker

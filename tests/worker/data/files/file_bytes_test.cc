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

TEST(FileBytesTest, AFileThatIsCutOffIsAnErrorAndNoCrash) {
  const std::string path = WriteDataFile("cut", std::string(10000, 'x'));
  const auto file = OnDisk(path);
  std::filesystem::resize_file(path, 5000);
  std::string scratch;
  const auto read = file->Read(4000, 2000, &scratch);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("byte 5000: it became shorter"));
}

}  // namespace
}  // namespace cairn::worker

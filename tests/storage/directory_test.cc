#include "storage/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace cairn::storage {
namespace {

TEST(DirectoryTest, MissingParentsAreCreatedAndExistingOnesKept) {
  const std::string root = testing::TempDir() + "/directory_test";
  std::filesystem::remove_all(root);
  EXPECT_TRUE(CreateDirectories(root + "/a/b").ok());
  EXPECT_TRUE(CreateDirectories(root + "/a/b").ok());
  EXPECT_TRUE(std::filesystem::is_directory(root + "/a/b"));
}

TEST(DirectoryTest, APathThroughAFileIsRefusedWithItsName) {
  const std::string file = testing::TempDir() + "/directory_test_file";
  std::ofstream(file) << "x";
  const absl::Status status = CreateDirectories(file + "/below");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr(file + "/below"));
}

TEST(DirectoryTest, ListsEveryNameAndReportsAMissingDirectory) {
  const std::string root = testing::TempDir() + "/directory_test_list";
  std::filesystem::remove_all(root);
  EXPECT_EQ(ListDirectory(root).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(CreateDirectories(root + "/ps-0").ok());
  std::ofstream(root + "/lock") << "x";
  EXPECT_THAT(*ListDirectory(root), testing::UnorderedElementsAre("ps-0", "lock"));
}

}  // namespace
}  // namespace cairn::storage

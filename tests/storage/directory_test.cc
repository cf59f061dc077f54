#include "storage/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/common/faulty_files.h"

namespace cairn::storage {
namespace {

TEST(DirectoryTest, MissingParentsAreCreatedAndExistingOnesKept) {
  const std::string root = ::testing::TempDir() + "/directory_test";
  std::filesystem::remove_all(root);
  EXPECT_TRUE(CreateDirectories(root + "/a/b").ok());
  EXPECT_TRUE(CreateDirectories(root + "/a/b").ok());
  EXPECT_TRUE(std::filesystem::is_directory(root + "/a/b"));
}

TEST(DirectoryTest, APathThroughAFileIsRefusedWithItsName) {
  const std::string file = ::testing::TempDir() + "/directory_test_file";
  std::ofstream(file) << "x";
  const absl::Status status = CreateDirectories(file + "/below");
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(file + "/below"));
}

TEST(DirectoryTest, AnErrorThatMayPassIsInternalAndALackIsResourceExhausted) {
  const std::string rules = ::testing::TempDir() + "/directory_test_rules";
  const cairn::testing::FaultyFiles faults(rules);
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  for (const auto& [error, code] : {std::pair(ESTALE, absl::StatusCode::kInternal),
                                    {EIO, absl::StatusCode::kInternal},
                                    {ETIMEDOUT, absl::StatusCode::kInternal},
                                    {EDQUOT, absl::StatusCode::kResourceExhausted},
                                    {EACCES, absl::StatusCode::kFailedPrecondition}}) {
    faults.Set({{"stat", "directory_test_faulty", error}});
    EXPECT_EQ(CreateDirectories(::testing::TempDir() + "/directory_test_faulty").code(), code)
        << strerror(error);
  }
  unsetenv("CAIRN_FAULTY_FILES");
}

TEST(DirectoryTest, ListsEveryNameAndReportsAMissingDirectory) {
  const std::string root = ::testing::TempDir() + "/directory_test_list";
  std::filesystem::remove_all(root);
  EXPECT_EQ(ListDirectory(root).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(CreateDirectories(root + "/ps-0").ok());
  std::ofstream(root + "/lock") << "x";
  EXPECT_THAT(*ListDirectory(root), ::testing::UnorderedElementsAre("ps-0", "lock"));
}

}  // namespace
}  // namespace cairn::storage

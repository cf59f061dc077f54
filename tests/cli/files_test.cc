#include "cli/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/faulty_files.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

TEST(FilesTest, AWrittenFileIsReadBackAndLeavesNoTemporaryFile) {
  const std::string folder = ::testing::TempDir() + "/files_test/a/b";
  ASSERT_TRUE(WriteFile(folder + "/x", "one").ok());
  ASSERT_TRUE(WriteFile(folder + "/x", std::string("two\0", 4)).ok());
  EXPECT_EQ(*ReadFile(folder + "/x"), std::string("two\0", 4));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(FilesTest, LinksAreFollowed) {
  const std::string folder = ::testing::TempDir() + "/files_test_links";
  ASSERT_TRUE(WriteFile(folder + "/real", "one").ok());
  std::filesystem::create_symlink("real", folder + "/link");
  ASSERT_TRUE(WriteFile(folder + "/link", "two").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(folder + "/link"));
  EXPECT_EQ(*ReadFile(folder + "/real"), "two");
}

TEST(FilesTest, PipesAreWrittenToAndStay) {
  const std::string pipe = ::testing::TempDir() + "/files_test_pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    std::ifstream stream(pipe);
    got.assign(std::istreambuf_iterator<char>(stream), {});
  });
  EXPECT_TRUE(WriteFile(pipe, "through").ok());
  reader.join();
  EXPECT_EQ(got, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(FilesTest, EmptyFileIsRead) {
  const std::string file = ::testing::TempDir() + "/files_test_empty";
  ASSERT_TRUE(WriteFile(file, "").ok());
  EXPECT_EQ(*ReadFile(file), "");
}

TEST(FilesTest, AnErrorOfTheDiskIsNotTakenForTheEndOfTheFile) {
  const std::string file = ::testing::TempDir() + "/files_test_faulty";
  ASSERT_TRUE(WriteFile(file, "one").ok());
  const std::string rules = ::testing::TempDir() + "/files_test_rules";
  const cairn::testing::FaultyFiles faults(rules);
  faults.Set({{"read", "files_test_faulty", EIO}});
  setenv("CAIRN_FAULTY_FILES", rules.c_str(), 1);
  const auto contents = ReadFile(file);
  unsetenv("CAIRN_FAULTY_FILES");
  ASSERT_FALSE(contents.ok()) << *contents;
  EXPECT_EQ(std::string(contents.status().message()),
            "cannot read " + file + ": Input/output error");
}

TEST(FilesTest, ErrorsNameTheFileAndTheReason) {
  EXPECT_THAT(std::string(ReadFile("/no/such").status().message()), HasSubstr("/no/such"));
  EXPECT_EQ(ReadFile("/no/such").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadFile("/dev/zero").status().message()), HasSubstr("not a file"));
  const std::string file = ::testing::TempDir() + "/files_test_file";
  ASSERT_TRUE(WriteFile(file, "").ok());
  EXPECT_THAT(std::string(WriteFile(file + "/below", "").message()), HasSubstr(file));
}

TEST(FilesTest, AFolderThatCanBeWrittenInIsMadeAndLeftEmpty) {
  const std::string folder = ::testing::TempDir() + "/files_test_probe/deep";
  EXPECT_TRUE(CheckMayWriteIn(folder).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_THAT(std::string(CheckMayWriteIn("/proc/nothing").message()),
              ::testing::HasSubstr("/proc/nothing"));
}

TEST(FilesTest, WhetherAFileCanBeWrittenIsFoundOutWithoutATrace) {
  const std::string folder = ::testing::TempDir() + "/files_test_check";
  ASSERT_TRUE(WriteFile(folder + "/old", "old").ok());
  EXPECT_TRUE(CheckMayWrite(folder + "/new/file").ok());
  EXPECT_TRUE(CheckMayWrite(folder + "/old").ok());
  EXPECT_TRUE(CheckMayWrite("/dev/null").ok());
  EXPECT_EQ(CheckMayWrite(folder).message(), "cannot write " + folder + ": it is a folder");
  EXPECT_EQ(CheckMayWrite(folder + "/old/file").message(),
            "cannot create the folder " + folder + "/old: it is a file");
  EXPECT_EQ(*ReadFile(folder + "/old"), "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(FilesTest, AFolderForAFileThatCouldNotBeWrittenIsRemovedAgain) {
  const std::string folder = ::testing::TempDir() + "/files_test_failed";
  const std::string name(300, 'x');  // Longer than file systems allow.
  EXPECT_FALSE(WriteFile(folder + "/" + name, "").ok());
  EXPECT_FALSE(std::filesystem::exists(folder));
}

}  // namespace
}  // namespace cairn::cli

#include "cli/local/unnamed_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(UnnamedFileTest, ItIsWrittenAndReadByItsPathAndHasNoName) {
  const std::string folder = testing::TempDir() + "/unnamed";
  std::filesystem::create_directories(folder);
  std::string path;
  {
    const auto file = UnnamedFile::Make(folder);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    path = file->path();
    EXPECT_TRUE(file->Write("one ").ok());
    EXPECT_TRUE(file->Write("two").ok());
    EXPECT_EQ(Contents(path), "one two");
    std::ofstream(path) << "replaced";
    EXPECT_EQ(Contents(path), "replaced");
    EXPECT_EQ(std::system(("[ \"$(cat " + path + ")\" = replaced ]").c_str()), 0);
    struct stat status = {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(UnnamedFileTest, AFolderThatCannotBeWrittenIsNamed) {
  const auto file = UnnamedFile::Make("/no/such/folder");
  EXPECT_EQ(file.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr("in /no/such/folder; set TMPDIR to a writable folder"));
}

TEST(UnnamedFileTest, AFileThatMayNotGrowIsAnError) {
  const auto file = UnnamedFile::Make(testing::TempDir());
  ASSERT_TRUE(file.ok()) << file.status();
  struct rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const struct rlimit small = {16, limit.rlim_max};
  signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status status = file->Write(std::string(64, 'x'));
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cannot write a temporary file in"));
}

TEST(UnnamedFileTest, TheFolderIsThatOfTheEnvironment) {
  EXPECT_EQ(TemporaryFolder({"HOME=/root", "TMPDIR=/somewhere"}), "/somewhere");
  EXPECT_EQ(TemporaryFolder({"TMPDIR="}), "/tmp");
  EXPECT_EQ(TemporaryFolder({}), "/tmp");
}

}  // namespace
}  // namespace cairn::cli

#include "worker/data/files/file_list.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::WriteDataFile;
using ::testing::HasSubstr;

class FileListTest : public ::testing::Test {
 protected:
  FileListTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for (const char* name : {"b.csv", "a10.csv", "a9.csv", "B.csv", "a.txt", "odd[1].csv"}) {
      WriteDataFile("list/" + std::string(name), "x");
    }
  }

  std::string Names(const std::vector<std::string>& patterns) {
    std::vector<std::string> paths;
    for (const std::string& pattern : patterns) paths.push_back(folder_ + "/" + pattern);
    const auto files = ExpandFileNames(paths);
    if (!files.ok()) return std::string(files.status().message());
    std::string names;
    for (const std::string& file : *files) names += file.substr(folder_.size() + 1) + " ";
    return names;
  }

  const std::string folder_ = ::testing::TempDir() + "/list";
};

TEST_F(FileListTest, MatchesStandInTheOrderOfTheirBytes) {
  EXPECT_EQ(Names({"[aB]*.csv"}), "B.csv a10.csv a9.csv ");
  EXPECT_EQ(Names({"a?.csv", "a10.csv"}), "a9.csv a10.csv ");
}

TEST_F(FileListTest, AFileThatIsCalledLikeAPatternIsItself) {
  EXPECT_EQ(Names({"odd[1].csv"}), "odd[1].csv ");
}

TEST_F(FileListTest, UnmatchedAndDuplicateNamesAreReported) {
  EXPECT_THAT(Names({"*.npy"}), HasSubstr("no data file matches " + folder_ + "/*.npy"));
  EXPECT_THAT(Names({"b.csv", "*.csv"}), HasSubstr("b.csv: named twice"));
}

TEST_F(FileListTest, AFolderThatCannotBeReadNowIsNotLeftOut) {
  rlimit limit = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int next = dup(STDIN_FILENO);
  close(next);
  const rlimit exhausted = {static_cast<rlim_t>(next), limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &exhausted), 0);
  const auto files = ExpandFileNames({folder_ + "/*.csv"});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(files.status(), absl::UnavailableError(absl::StrCat("cannot read data file ", folder_,
                                                                "/*.csv: Too many open files")));
}

TEST_F(FileListTest, ANameThatIsNoPatternNeedNotExist) { EXPECT_EQ(Names({"gone"}), "gone "); }

TEST_F(FileListTest, AMatchThatIsNotUtf8IsRefused) {
  WriteDataFile("list/\xff.bin", "x");
  EXPECT_THAT(Names({"*.bin"}), HasSubstr("\\xff.bin: its name is not UTF-8"));
  WriteDataFile("list/\xc3\xa4.dat", "x");
  EXPECT_EQ(Names({"*.dat"}), "\xc3\xa4.dat ");
}

}  // namespace
}  // namespace cairn::worker

#include "cli/local/new_folders.h"

#include <fstream>
#include <string>

#include "gtest/gtest.h"

namespace cairn::cli {
namespace {

namespace fs = std::filesystem;

class NewFoldersTest : public testing::Test {
 protected:
  NewFoldersTest() {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }

  const fs::path root_ = fs::path(testing::TempDir()) / "new_folders_test";
};

TEST_F(NewFoldersTest, DeletesEmptyNewFoldersAndKeepsOlderOnes) {
  {
    NewFolders folders;
    ASSERT_TRUE(folders.Make(root_ / "a/b/c").ok());
    EXPECT_TRUE(fs::is_directory(root_ / "a/b/c"));
  }
  EXPECT_TRUE(fs::is_empty(root_));
}

TEST_F(NewFoldersTest, KeepsNewFoldersThatAreNotEmpty) {
  {
    NewFolders folders;
    ASSERT_TRUE(folders.Make(root_ / "a/b").ok());
    std::ofstream(root_ / "a/file") << "kept";
  }
  EXPECT_TRUE(fs::exists(root_ / "a/file"));
  EXPECT_FALSE(fs::exists(root_ / "a/b"));
}

TEST_F(NewFoldersTest, KeepLeavesNewFolders) {
  {
    NewFolders folders;
    ASSERT_TRUE(folders.Make((root_ / "a/b/").string() + "/").ok());
    folders.Keep();
  }
  EXPECT_TRUE(fs::is_directory(root_ / "a/b"));
  NewFolders folders;
  EXPECT_TRUE(folders.Make("").ok());
}

TEST_F(NewFoldersTest, NamesTheFileInTheWay) {
  const fs::path file = root_ / "file";
  std::ofstream(file) << "in the way";
  NewFolders folders;
  EXPECT_EQ(folders.Make(file).message(),
            "cannot create the folder " + file.string() + ": it is a file");
  EXPECT_EQ(folders.Make(file / "a").message(),
            "cannot create the folder " + file.string() + "/a: " + file.string() + " is a file");
  EXPECT_EQ(folders.Make("/dev/null").message(),
            "cannot create the folder /dev/null: it exists and is not a folder");
}

}  // namespace
}  // namespace cairn::cli

#include "worker/data/files/file_folder.h"

#include <filesystem>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace cairn::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const ExampleFiles kPngs = {{".png"}, {".gif"}, ".png file"};

class FileFolderTest : public ::testing::Test {
 protected:
  FileFolderTest() { fs::remove_all(root_); }

  void Add(const std::string& name) {
    const fs::path path = root_ + "/" + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << "x";
  }

  // Relative to the root.
  static std::vector<std::string> Names(const absl::StatusOr<std::vector<std::string>>& files) {
    EXPECT_TRUE(files.ok()) << files.status();
    std::vector<std::string> names;
    if (!files.ok()) return names;
    for (const std::string& file : *files) names.push_back(file.substr(root_.size() + 1));
    return names;
  }

  static std::string Error(const absl::StatusOr<std::vector<std::string>>& files) {
    return std::string(files.status().message());
  }

  static inline const std::string root_ = ::testing::TempDir() + "/file_folder";
};

TEST_F(FileFolderTest, ClassesAndTheirFilesAreSorted) {
  for (const char* const name : {"b/2.png", "b/10.PNG", "b/x/1.png", "b/a.b/1.png", "a/1.png",
                                 ".hidden/1.png", "top.png", "a/readme.txt"}) {
    Add(name);
  }
  EXPECT_THAT(*ClassFolders(root_), ElementsAre("a", "b"));
  EXPECT_THAT(Names(ListClassFiles({root_ + "/"}, {}, kPngs)),
              ElementsAre("a/1.png", "b/10.PNG", "b/2.png", "b/a.b/1.png", "b/x/1.png"));
  EXPECT_THAT(Names(ListClassFiles({root_}, {"b", "a"}, kPngs)),
              ElementsAre("b/10.PNG", "b/2.png", "b/a.b/1.png", "b/x/1.png", "a/1.png"));
  EXPECT_THAT(Names(ListAllFiles({root_}, kPngs)),
              ElementsAre("top.png", ".hidden/1.png", "a/1.png", "b/10.PNG", "b/2.png",
                          "b/a.b/1.png", "b/x/1.png"));
  EXPECT_THAT(Names(ListAllFiles({root_ + "/a/readme.txt"}, kPngs)), ElementsAre("a/readme.txt"));
}

TEST_F(FileFolderTest, TheClassIsTheFolderBelowTheDirectory) {
  EXPECT_EQ(ClassOfFile({"/d"}, "/d/cat/1.png"), "cat");
  EXPECT_EQ(ClassOfFile({"/d/", "/d/more"}, "/d/more/dog/x/1.png"), "dog");
}

TEST_F(FileFolderTest, ClassesOfSeveralDirectoriesAreJoined) {
  Add("one/cat/1.png");
  Add("two/ant/1.png");
  const std::vector<std::string> directories = {root_ + "/one", root_ + "/two"};
  EXPECT_THAT(*ClassesIn(directories, {}), ElementsAre("ant", "cat"));
  EXPECT_THAT(*ClassesIn(directories, {"cat"}), ElementsAre("cat"));
  EXPECT_THAT(Error(ClassesIn(directories, {"dog"})),
              HasSubstr("\"class_names\" has \"dog\", which is none of its folders ant, cat"));
}

TEST_F(FileFolderTest, LinksToFoldersAreNotFollowedBelowAClass) {
  Add("a/1.png");
  fs::create_directory_symlink(root_ + "/a", root_ + "/a/again");
  EXPECT_THAT(Names(ListClassFiles({root_}, {}, kPngs)), ElementsAre("a/1.png"));
}

TEST_F(FileFolderTest, BadFoldersAreNamed) {
  EXPECT_THAT(Error(ListClassFiles({root_}, {}, kPngs)), HasSubstr("No such file or directory"));
  Add("file");
  EXPECT_THAT(Error(ListClassFiles({root_ + "/file"}, {}, kPngs)), HasSubstr("it is a file"));
  EXPECT_THAT(Error(ListClassFiles({root_}, {}, kPngs)), HasSubstr("it has no folders"));
  EXPECT_THAT(Error(ListAllFiles({root_}, kPngs)), HasSubstr("no .png file is in it"));
  Add("a/1.txt");
  EXPECT_THAT(Error(ListClassFiles({root_}, {}, kPngs)),
              HasSubstr("no .png file is in its class folders"));
  Add("a/\xff.png");
  EXPECT_THAT(Error(ListClassFiles({root_}, {}, kPngs)), HasSubstr("\\xff.png: its name is not"));
  Add("a/1.gif");
  EXPECT_THAT(Error(ListClassFiles({root_}, {}, kPngs)),
              HasSubstr("1.gif: not a .png file; convert it, or remove it"));
}

}  // namespace
}  // namespace cairn::worker

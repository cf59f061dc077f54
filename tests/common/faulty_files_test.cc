#include "tests/common/faulty_files.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace cairn::testing {
namespace {

class FaultyFilesTest : public ::testing::Test {
 protected:
  FaultyFilesTest() : folder_(::testing::TempDir() + "faulty_files_test"), faults_(Path("rules")) {
    std::filesystem::create_directories(folder_);
    setenv("CAIRN_FAULTY_FILES", Path("rules").c_str(), 1);
    std::ofstream(Path("data")) << "abc";
  }
  ~FaultyFilesTest() override {
    unsetenv("CAIRN_FAULTY_FILES");
    std::filesystem::remove_all(folder_);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  const std::string folder_;
  const FaultyFiles faults_;
};

TEST_F(FaultyFilesTest, AnOperationOnAMatchingFileFails) {
  char byte = 0;
  const int descriptor = open(Path("data").c_str(), O_RDWR);
  ASSERT_GE(descriptor, 0);
  EXPECT_EQ(pread(descriptor, &byte, 1, 0), 1);
  faults_.Set({{"read", "/data", EIO}, {"sync", "/data", ENOSPC}});
  EXPECT_EQ(pread(descriptor, &byte, 1, 0), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(fdatasync(descriptor), -1);
  EXPECT_EQ(errno, ENOSPC);
  EXPECT_EQ(pwrite(descriptor, &byte, 1, 0), 1) << "writes have no fault";
  EXPECT_EQ(faults_.fired(), 2);
  faults_.Clear();
  EXPECT_EQ(pread(descriptor, &byte, 1, 0), 1);
  EXPECT_EQ(faults_.fired(), 2);
  close(descriptor);
}

TEST_F(FaultyFilesTest, OtherFilesAreNotAffected) {
  faults_.Set({{"open", "/data", EACCES}});
  EXPECT_EQ(open(Path("data").c_str(), O_RDONLY), -1);
  EXPECT_EQ(errno, EACCES);
  EXPECT_TRUE(std::ofstream(Path("other")).good());
}

TEST_F(FaultyFilesTest, AFaultWithoutErrorHangsUntilItIsRemoved) {
  faults_.Set({{"write", "/data", 0}});
  std::atomic<bool> done = false;
  std::thread writer([&] {
    const int descriptor = open(Path("data").c_str(), O_WRONLY);
    EXPECT_EQ(write(descriptor, "x", 1), 1);
    close(descriptor);
    done = true;
  });
  while (faults_.fired() == 0) std::this_thread::yield();
  EXPECT_FALSE(done);
  faults_.Clear();
  writer.join();
  EXPECT_TRUE(done);
}

TEST_F(FaultyFilesTest, AShortTransferIsOfHalfTheBytes) {
  char bytes[4] = {};
  const int descriptor = open(Path("data").c_str(), O_RDWR);
  faults_.Set({{"read", "/data", FaultyFiles::kShort}, {"write", "/data", FaultyFiles::kShort}});
  EXPECT_EQ(pread(descriptor, bytes, 3, 0), 2);
  EXPECT_EQ(pread(descriptor, bytes + 2, 1, 2), 1);
  EXPECT_STREQ(bytes, "abc");
  EXPECT_EQ(pwrite(descriptor, "xyzu", 4, 0), 2);
  iovec parts[] = {{const_cast<char*>("12"), 2}, {const_cast<char*>("3"), 1}};
  EXPECT_EQ(writev(descriptor, parts, 2), 1);
  faults_.Clear();
  EXPECT_EQ(pread(descriptor, bytes, 3, 0), 3);
  EXPECT_STREQ(bytes, "1yc");
  close(descriptor);
}

class PowerFailureTest : public ::testing::Test {
 protected:
  PowerFailureTest()
      : folder_(::testing::TempDir() + "power_failure_test"),
        record_(::testing::TempDir() + "power_failure_record"),
        power_(record_) {
    std::filesystem::create_directories(folder_);
    setenv("CAIRN_RECORD_SYNCS", record_.c_str(), 1);
  }
  ~PowerFailureTest() override {
    unsetenv("CAIRN_RECORD_SYNCS");
    std::filesystem::remove_all(folder_);
    std::filesystem::remove(record_);
  }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

  int Open(const std::string& name) const {
    return open(Path(name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  }
  void Write(const std::string& name, const std::string& text, bool sync) const {
    const int file = Open(name);
    EXPECT_EQ(write(file, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    if (sync) {
      EXPECT_EQ(fdatasync(file), 0);
    }
    close(file);
  }
  void SyncFolder() const {
    const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
    EXPECT_EQ(fsync(folder), 0);
    close(folder);
  }
  // "-": there is no such file.
  std::string Read(const std::string& name) const {
    std::ifstream file(Path(name));
    std::string text = "-";
    if (file.good()) std::getline(file, text, '\0');
    return text;
  }

  const std::string folder_;
  const std::string record_;
  const PowerFailure power_;
};

TEST_F(PowerFailureTest, UnsyncedDataAreLost) {
  Write("data", "durable", true);
  SyncFolder();
  Write("data", " and lost", false);
  EXPECT_EQ(power_.Strike(folder_), 1);
  EXPECT_EQ(Read("data"), "durable");
  // What is left is durable.
  Write("data", ".", true);
  EXPECT_EQ(power_.Strike(folder_), 0);
  EXPECT_EQ(Read("data"), "durable.");
}

TEST_F(PowerFailureTest, AFileInAFolderThatWasNotSyncedIsLost) {
  Write("data", "durable", true);
  EXPECT_EQ(power_.Strike(folder_), 1);
  EXPECT_EQ(Read("data"), "-");
}

TEST_F(PowerFailureTest, ARenamingInAFolderThatWasNotSyncedIsUndone) {
  Write("data", "old", true);
  Write("draft", "new", true);
  SyncFolder();
  ASSERT_EQ(rename(Path("draft").c_str(), Path("data").c_str()), 0);
  EXPECT_EQ(Read("data"), "new");
  EXPECT_EQ(power_.Strike(folder_), 1);
  EXPECT_EQ(Read("data"), "old");
  EXPECT_EQ(Read("draft"), "new");

  ASSERT_EQ(rename(Path("draft").c_str(), Path("data").c_str()), 0);
  SyncFolder();
  EXPECT_EQ(power_.Strike(folder_), 0);
  EXPECT_EQ(Read("data"), "new");
}

TEST_F(PowerFailureTest, OtherFoldersAndDeletionsAreLeftAlone) {
  Write("data", "abc", true);
  SyncFolder();
  ASSERT_EQ(unlink(Path("data").c_str()), 0);
  EXPECT_EQ(power_.Strike(folder_ + "/other"), 0);
  EXPECT_EQ(Read("data"), "-");
}

}  // namespace
}  // namespace cairn::testing

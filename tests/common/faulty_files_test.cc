#include "tests/common/faulty_files.h"

#include <fcntl.h>
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

}  // namespace
}  // namespace cairn::testing

#include "worker/data/files/read_at.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/faulty_files.h"
#include "tests/worker/data/data_files.h"

namespace cairn::worker {
namespace {

using cairn::testing::FaultyFiles;
using cairn::testing::WriteDataFile;
using ::testing::MatchesRegex;

class ReadAtTest : public ::testing::Test {
 protected:
  ReadAtTest()
      : file_(WriteDataFile("read_at.data", "0123456789")),
        faults_(::testing::TempDir() + "read_at_rules"),
        descriptor_(open(file_.c_str(), O_RDONLY)) {
    setenv("CAIRN_FAULTY_FILES", (::testing::TempDir() + "read_at_rules").c_str(), 1);
    faults_.Clear();
  }
  ~ReadAtTest() override {
    unsetenv("CAIRN_FAULTY_FILES");
    close(descriptor_);
  }

  // A thread that removes the faults when so many have fired.
  std::thread RepairAfter(int fired) const {
    return std::thread([this, fired] {
      while (faults_.fired() < fired) std::this_thread::yield();
      faults_.Clear();
    });
  }

  const std::string file_;
  const FaultyFiles faults_;
  const int descriptor_;
  char bytes_[16] = {};
};

TEST_F(ReadAtTest, ReadsUpToTheEnd) {
  const auto count = ReadAt(descriptor_, 7, 10, bytes_, file_);
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(std::string(bytes_, *count), "789");
}

TEST_F(ReadAtTest, TransientErrorsAreRepeated) {
  for (const int error : {EIO, ESTALE, ETIMEDOUT, EAGAIN, ENOTCONN}) {
    faults_.Set({{"read", "read_at.data", error}});
    std::thread repair = RepairAfter(faults_.fired() + 2);
    const auto count = ReadAt(descriptor_, 0, 3, bytes_, file_);
    repair.join();
    ASSERT_TRUE(count.ok()) << count.status();
    EXPECT_EQ(std::string(bytes_, *count), "012");
  }
}

TEST_F(ReadAtTest, ATransientErrorThatLastsIsUnavailable) {
  faults_.Set({{"read", "read_at.data", EIO}});
  const auto count = ReadAt(descriptor_, 4, 3, bytes_, "the data", absl::Milliseconds(40));
  EXPECT_EQ(count.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(count.status().message()),
              MatchesRegex("data file the data: cannot read byte 4: Input/output error "
                           "\\(tried [0-9]+ times? in 40ms\\)"));
}

TEST_F(ReadAtTest, OtherErrorsAreNotRepeated) {
  faults_.Set({{"read", "read_at.data", EINVAL}});
  const int fired = faults_.fired();
  EXPECT_EQ(ReadAt(descriptor_, 0, 3, bytes_, file_).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(faults_.fired(), fired + 1);
}

TEST_F(ReadAtTest, OpeningIsRepeatedToo) {
  faults_.Set({{"open", "read_at.data", EIO}});
  EXPECT_EQ(OpenPatiently(file_, O_RDONLY, absl::Milliseconds(40)), -EIO);
  std::thread repair = RepairAfter(faults_.fired() + 2);
  const int opened = OpenPatiently(file_, O_RDONLY);
  repair.join();
  EXPECT_GE(opened, 0);
  close(opened);
  EXPECT_EQ(OpenPatiently(file_ + ".missing", O_RDONLY), -ENOENT);
}

TEST_F(ReadAtTest, TheSizeIsAskedRepeatedlyToo) {
#if defined(CAIRN_THREAD_SANITIZER)
  GTEST_SKIP() << "the thread sanitizer replaces fstat";
#endif
  faults_.Set({{"stat", "read_at.data", EIO}});
  EXPECT_EQ(StatPatiently(descriptor_, "the data", absl::Milliseconds(40)).status(),
            absl::UnavailableError("cannot read data file the data: Input/output error"));
  faults_.Clear();
  const auto status = StatPatiently(descriptor_, file_);
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->st_size, 10);
}

TEST(CannotReadTest, OnlyAnErrorThatMayPassIsUnavailable) {
  EXPECT_EQ(CannotRead("x.npy", EIO).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CannotRead("x.npy", EMFILE).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CannotRead("x.npy", ENFILE).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(CannotRead("x.npy", ENOENT).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(CannotRead("x.npy", ENOENT).message(),
            "cannot read data file x.npy: No such file or directory");
}

}  // namespace
}  // namespace cairn::worker

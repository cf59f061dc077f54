#include "storage/rocksdb_status.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/status.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace cairn::storage {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// On this closed file the system's function says EBADF, on which RocksDB would end the process.
TEST(RocksdbStatusTest, TheQuestionForARangeSyncIsNeverAnsweredByAnotherError) {
  errno = 0;
  EXPECT_EQ(sync_file_range(-1, 0, 0, 0), -1);
  EXPECT_EQ(errno, ENOSYS);
  EXPECT_EQ(sync_file_range(-1, 0, 0, SYNC_FILE_RANGE_WRITE), -1);
  EXPECT_EQ(errno, EBADF);
}

// At this address the system's function says EFAULT, on which RocksDB would end the process.
TEST(RocksdbStatusTest, TheQuestionForAFileIsAnsweredByErrorsThatRocksdbKnows) {
  const auto* const nowhere = reinterpret_cast<const char*>(1);
  errno = 0;
  EXPECT_EQ(access(nowhere, F_OK), -1);
  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(access(nowhere, R_OK), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_EQ(access("/no/such", F_OK), -1);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(access("/", F_OK), 0);
}

TEST(RocksdbStatusTest, EachKindOfFailureHasItsCode) {
  using rocksdb::Status;
  EXPECT_EQ(FromRocksdb(Status::OK(), "x"), absl::OkStatus());
  EXPECT_EQ(FromRocksdb(Status::NoSpace(), "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FromRocksdb(Status::SpaceLimit(), "x").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(FromRocksdb(Status::NotFound(), "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FromRocksdb(Status::PathNotFound(), "x").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(FromRocksdb(Status::Corruption(), "x").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(FromRocksdb(Status::IOError(), "x").code(), absl::StatusCode::kInternal);
  EXPECT_EQ(FromRocksdb(Status::Corruption("Can't access /8.sst: IO error: while stat a file for "
                                           "size: /8.sst: Input/output error"),
                        "x")
                .code(),
            absl::StatusCode::kInternal);
  EXPECT_EQ(FromRocksdb(Status::Corruption("Can't access /8.sst: IO error: No such file or "
                                           "directory: while stat a file for size: /8.sst"),
                        "x")
                .code(),
            absl::StatusCode::kDataLoss);
}

TEST(RocksdbStatusTest, TheMessageHasTheActionAndTheCause) {
  const absl::Status status =
      FromRocksdb(rocksdb::Status::IOError("disk on fire"), "cannot write \"a\"");
  EXPECT_THAT(std::string(status.message()), StartsWith("cannot write \"a\": "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("disk on fire"));
}

TEST(RocksdbStatusTest, AHeldLockIsDistinguishedFromOtherErrors) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  const std::string path = testing::TempDir() + "/rocksdb_status_test.lock";
  rocksdb::FileLock *lock = nullptr, *second = nullptr;
  ASSERT_TRUE(env->LockFile(path, &lock).ok());
  EXPECT_TRUE(IsLockHeld(env->LockFile(path, &second)));
  EXPECT_FALSE(IsLockHeld(env->LockFile("/proc/no/such/lock", &second)));
  ASSERT_TRUE(env->UnlockFile(lock).ok());
}

}  // namespace
}  // namespace cairn::storage

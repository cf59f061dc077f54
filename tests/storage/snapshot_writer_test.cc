#include "storage/snapshot_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "storage/snapshot_reader.h"
#include "tests/storage/faulty_file_system.h"

namespace cairn::storage {
namespace {

using ::testing::HasSubstr;

constexpr SnapshotName kName{3, 8};

class SnapshotWriterTest : public testing::Test {
 protected:
  SnapshotWriterTest() {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }

  std::unique_ptr<SnapshotWriter> Create() {
    auto writer = SnapshotWriter::Create(env_.get(), directory_, "temporary", kName);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }

  const std::string directory_ = testing::TempDir() + "/snapshot_writer_test";
  const std::string path_ = directory_ + "/job-3.checkpoint-8.sst";
  const std::shared_ptr<FaultyFileSystem> disk_ = std::make_shared<FaultyFileSystem>();
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(disk_);
};

TEST_F(SnapshotWriterTest, AFileGetsItsFinalNameInFinish) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Add(1, "header", {"pay", "load"}).ok());
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/temporary"));
  const auto summary = writer->Finish();
  ASSERT_TRUE(summary.ok()) << summary.status();
  EXPECT_EQ(summary->blocks, 1u);
  EXPECT_EQ(summary->bytes, 13u);
  EXPECT_TRUE(std::filesystem::exists(path_));
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/temporary"));
}

TEST_F(SnapshotWriterTest, AnErrorPersistsAndNamesSnapshotAndDirectory) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Add(1, "header", {"payload"}).ok());
  disk_->FailOnceAfter(0);
  const absl::Status first = writer->Finish().status();
  EXPECT_EQ(first.code(), absl::StatusCode::kInternal) << first;
  EXPECT_THAT(std::string(first.message()), HasSubstr("job 3, checkpoint 8"));
  EXPECT_THAT(std::string(first.message()), HasSubstr(directory_));
  EXPECT_EQ(writer->Add(2, "header", {"payload"}), first);
  EXPECT_EQ(writer->Finish().status(), first);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

// The disk keeps something else than was written, and reports no error.
TEST_F(SnapshotWriterTest, ASnapshotThatDoesNotReadBackIsNotPublished) {
  const auto writer = Create();
  const std::string large(4 << 20, 'x');
  ASSERT_TRUE(writer->Add(1, "header", {large}).ok());
  ASSERT_TRUE(writer->Add(2, "header", {large}).ok());
  {
    std::fstream file(directory_ + "/temporary", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(1 << 20);
    ASSERT_TRUE(file.put('y').good()) << "nothing of the first block is in the file yet";
  }
  EXPECT_EQ(writer->Finish().status().code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(SnapshotWriterTest, AMissingDirectoryIsAnError) {
  std::filesystem::remove_all(directory_);
  const absl::Status status =
      SnapshotWriter::Create(env_.get(), directory_, "temporary", kName).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(directory_));
}

TEST_F(SnapshotWriterTest, BlocksOutOfOrderFailACheck) {
  const auto writer = Create();
  ASSERT_TRUE(writer->Add(5, "", {}).ok());
  EXPECT_DEATH(writer->Add(5, "", {}).IgnoreError(), "block_id");
}

}  // namespace
}  // namespace cairn::storage

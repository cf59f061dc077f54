#include "ps_server/snapshot.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "ps_server/upload_store.h"
#include "tests/ps_server/test_store.h"

namespace cairn::ps {
namespace {

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    std::string pattern = ::testing::TempDir() + "/snapshot-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    Open();
  }
  ~SnapshotTest() override {
    disk_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open() {
    disk_.reset();
    auto opened = storage::CheckpointStore::Open(directory_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    disk_ = *std::move(opened);
  }

  TestJobOptions Adam() {
    TestJobOptions options;
    options.optimizer = "adam";
    options.learning_rate = 0.1;
    return options;
  }

  std::string directory_;
  std::unique_ptr<storage::CheckpointStore> disk_;
};

TEST_F(SnapshotTest, WhatIsReadIsWhatTheCutWasToTheBit) {
  TestStore test(Adam());
  for (const int64_t batch : {0, 1, 2, 5, 9}) test.Push(batch, 0.1f * static_cast<float>(batch));
  const auto cut = test.store.MakeCut(7, 1, 3);
  ASSERT_TRUE(cut.ok());
  test.Push(3);
  const auto written = WriteSnapshot(**cut, disk_.get());
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->blocks, test.layout->blocks().size());
  Open();
  const auto states = ReadSnapshot(*test.layout, 3, *disk_, &test.pool);
  ASSERT_TRUE(states.ok()) << states.status();
  for (size_t i = 0; i < states->size(); ++i) {
    const BlockState& expected = (*cut)->states[i];
    EXPECT_EQ(Values((*states)[i].values), Values(expected.values));
    ASSERT_EQ(static_cast<bool>((*states)[i].slots), static_cast<bool>(expected.slots));
    if (expected.slots) {
      EXPECT_EQ(Values((*states)[i].slots), Values(expected.slots));
    }
    EXPECT_EQ((*states)[i].version, expected.version);
    EXPECT_TRUE((*states)[i].ledger == expected.ledger);
  }
  // Writing it again gives the same.
  const auto again = WriteSnapshot(**cut, disk_.get());
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(*again == *written);
}

TEST_F(SnapshotTest, ASnapshotOfAnotherOptimizerIsRefusedByName) {
  TestStore test(Adam());
  ASSERT_TRUE(WriteSnapshot(**test.store.MakeCut(7, 1, 1), disk_.get()).ok());
  const auto states = ReadSnapshot(*MakeLayout({}), 1, *disk_, &test.pool);
  EXPECT_EQ(states.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(states.status().ToString().find("hidden/kernel"), std::string::npos) << states.status();
}

TEST_F(SnapshotTest, ASnapshotOfAnotherShapeIsRefusedByName) {
  TestStore test(Adam());
  ASSERT_TRUE(WriteSnapshot(**test.store.MakeCut(7, 1, 1), disk_.get()).ok());
  TestJobOptions wider = Adam();
  wider.hidden_units = 7;
  const auto states = ReadSnapshot(*MakeLayout(wider), 1, *disk_, &test.pool);
  EXPECT_EQ(states.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(states.status().ToString().find("(4, 7)"), std::string::npos) << states.status();
  EXPECT_NE(states.status().ToString().find("(4, 6)"), std::string::npos) << states.status();
}

TEST_F(SnapshotTest, AMissingOrDamagedSnapshotIsAnErrorAndNoValues) {
  TestStore test(Adam());
  EXPECT_EQ(ReadSnapshot(*test.layout, 1, *disk_, &test.pool).status().code(),
            absl::StatusCode::kNotFound);
  ASSERT_TRUE(WriteSnapshot(**test.store.MakeCut(7, 1, 1), disk_.get()).ok());
  for (const auto& file : std::filesystem::directory_iterator(directory_)) {
    if (file.path().extension() != ".sst") continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(file.file_size() / 3));
    bytes.put('\x5a');
    bytes.put('\xa5');
  }
  EXPECT_EQ(ReadSnapshot(*test.layout, 1, *disk_, &test.pool).status().code(),
            absl::StatusCode::kDataLoss);
}

UploadStore::Upload UploadOf(const JobLayout& layout, int position, float value, BufferPool* pool) {
  const BlockSpec& block = layout.blocks()[position];
  const nn::VariableSpec& variable = layout.variables()[block.variable];
  UploadStore::Upload upload;
  upload.block.set_block(block.id);
  upload.block.set_variable(variable.name);
  upload.block.mutable_variable_shape()->Assign(variable.shape.begin(), variable.shape.end());
  upload.block.set_row_begin(block.row_begin);
  upload.block.set_row_end(block.row_end);
  upload.values = Filled(pool, block.count, value);
  return upload;
}

TEST_F(SnapshotTest, UploadedValuesAddUpOverCallsAndSurviveARestart) {
  TestJobOptions options = Adam();
  options.weights_uploaded = true;
  const auto layout = MakeLayout(options);
  BufferPool pool;
  const int blocks = static_cast<int>(layout->blocks().size());
  {
    UploadStore uploads(disk_.get());
    std::vector<UploadStore::Upload> first;
    first.push_back(UploadOf(*layout, 1, -1, &pool));
    first.push_back(UploadOf(*layout, 0, 0, &pool));
    ASSERT_TRUE(uploads.Store(7, std::move(first)).ok());
    const auto incomplete = MakeInitialStates(*layout, &uploads, &pool);
    EXPECT_EQ(incomplete.status().code(), absl::StatusCode::kNotFound) << incomplete.status();
    for (int position = 1; position < blocks; ++position) {  // The first of them again.
      std::vector<UploadStore::Upload> one;
      one.push_back(UploadOf(*layout, position, static_cast<float>(position), &pool));
      ASSERT_TRUE(uploads.Store(7, std::move(one)).ok());
    }
  }
  Open();
  UploadStore uploads(disk_.get());
  const auto states = MakeInitialStates(*layout, &uploads, &pool);
  ASSERT_TRUE(states.ok()) << states.status();
  for (int position = 0; position < blocks; ++position) {
    for (const float value : Values((*states)[position].values)) EXPECT_EQ(value, position);
    if ((*states)[position].slots) {
      for (const float value : Values((*states)[position].slots)) EXPECT_EQ(value, 0);
    }
  }
  EXPECT_EQ(uploads.Read(8, 0).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(SnapshotTest, AnUploadOfTheSameBlockTwiceOrOfImpossibleRowsIsRefused) {
  const auto layout = MakeLayout({});
  BufferPool pool;
  UploadStore uploads(disk_.get());
  std::vector<UploadStore::Upload> twice;
  twice.push_back(UploadOf(*layout, 1, 1, &pool));
  twice.push_back(UploadOf(*layout, 1, 2, &pool));
  EXPECT_EQ(uploads.Store(7, std::move(twice)).code(), absl::StatusCode::kInvalidArgument);
  proto::UploadedBlock block = UploadOf(*layout, 0, 1, &pool).block;
  EXPECT_EQ(*UploadStore::Count(block), 24);
  block.set_row_end(5);
  EXPECT_FALSE(UploadStore::Count(block).ok());
  block.set_row_end(4);
  block.set_variable_shape(1, int64_t{1} << 60);
  EXPECT_FALSE(UploadStore::Count(block).ok());
  block.set_variable_shape(1, -6);
  EXPECT_FALSE(UploadStore::Count(block).ok());
}

}  // namespace
}  // namespace cairn::ps

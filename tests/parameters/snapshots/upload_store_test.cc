#include "parameters/snapshots/upload_store.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parameters/initial_values.h"
#include "tests/parameters/test_disk.h"
#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

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

TEST(UploadStore, UploadsAccumulateAndSurviveARestart) {
  TestJobOptions options;
  options.optimizer = "adam";
  TestDisk disk;
  options.weights_uploaded = true;
  const auto layout = MakeLayout(options);
  BufferPool pool;
  const int blocks = static_cast<int>(layout->blocks().size());
  {
    UploadStore uploads(disk.store());
    std::vector<UploadStore::Upload> first;
    first.push_back(UploadOf(*layout, 1, -1, &pool));
    first.push_back(UploadOf(*layout, 0, 0, &pool));
    ASSERT_TRUE(uploads.Store(7, std::move(first)).ok());
    const auto incomplete = MakeInitialStates(*layout, &uploads, &pool);
    EXPECT_EQ(incomplete.status().code(), absl::StatusCode::kNotFound) << incomplete.status();
    for (int position = 1; position < blocks; ++position) {  // Uploads block 1 again.
      std::vector<UploadStore::Upload> one;
      one.push_back(UploadOf(*layout, position, static_cast<float>(position), &pool));
      ASSERT_TRUE(uploads.Store(7, std::move(one)).ok());
    }
  }
  disk.Reopen();
  UploadStore uploads(disk.store());
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

TEST(UploadStore, DuplicateBlocksAndInvalidRowsAreRefused) {
  TestDisk disk;
  const auto layout = MakeLayout({});
  BufferPool pool;
  UploadStore uploads(disk.store());
  std::vector<UploadStore::Upload> twice;
  twice.push_back(UploadOf(*layout, 1, 1, &pool));
  twice.push_back(UploadOf(*layout, 1, 2, &pool));
  EXPECT_EQ(uploads.Store(7, std::move(twice)).code(), absl::StatusCode::kInvalidArgument);
  proto::UploadedBlock block = UploadOf(*layout, 0, 1, &pool).block;
  EXPECT_EQ(*UploadStore::CountValues(block), 24);
  block.set_row_end(5);
  EXPECT_FALSE(UploadStore::CountValues(block).ok());
  block.set_row_end(4);
  block.set_variable_shape(1, int64_t{1} << 60);
  EXPECT_FALSE(UploadStore::CountValues(block).ok());
  block.set_variable_shape(1, -6);
  EXPECT_FALSE(UploadStore::CountValues(block).ok());
}

TEST(UploadAdmissionTest, OnlyWhatIsExpectedIsTaken) {
  TestDisk disk;
  UploadStore uploads(disk.store());
  EXPECT_TRUE(absl::IsUnavailable(uploads.Admit(7, 100)));
  uploads.Expect(7, 1000);
  EXPECT_TRUE(uploads.Admit(7, 1000).ok());
  EXPECT_TRUE(uploads.Admit(7, 1000).ok()) << "its reply was lost";
  EXPECT_TRUE(absl::IsUnavailable(uploads.Admit(8, 100)));
  EXPECT_TRUE(absl::IsFailedPrecondition(uploads.Admit(7, uint64_t{1} << 30)));
  uploads.Expect(7, 0);
  EXPECT_TRUE(absl::IsUnavailable(uploads.Admit(7, 100)));
  EXPECT_EQ(uploads.refused(), 4u);
}

}  // namespace
}  // namespace cairn::parameters

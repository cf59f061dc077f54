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

TEST(UploadStore, TheOptimizersStateIsPartOfAnUpload) {
  TestJobOptions options;
  options.optimizer = "adam";
  options.weights_uploaded = true;
  TestDisk disk;
  const auto layout = MakeLayout(options);
  BufferPool pool;
  UploadStore uploads(disk.store());
  for (int position = 0; position < static_cast<int>(layout->blocks().size()); ++position) {
    const BlockSpec& block = layout->blocks()[position];
    const int slots = layout->slot_count(block);
    UploadStore::Upload upload = UploadOf(*layout, position, 1, &pool);
    upload.block.set_version(6);
    for (int slot = 0; slot < slots; ++slot) {
      upload.block.add_slots(layout->optimizer(block).slot_names()[slot]);
    }
    EXPECT_EQ(*UploadStore::CountValues(upload.block), block.count * (1 + slots));
    // The values are 1, slot i is i + 2.
    upload.values = pool.Allocate(block.count * (1 + slots));
    for (int64_t i = 0; i < upload.values.count(); ++i) {
      upload.values.data()[i] = static_cast<float>(1 + i / block.count);
    }
    std::vector<UploadStore::Upload> one;
    one.push_back(std::move(upload));
    ASSERT_TRUE(uploads.Store(7, std::move(one)).ok());
  }
  const auto states = MakeInitialStates(*layout, &uploads, &pool);
  ASSERT_TRUE(states.ok()) << states.status();
  const BlockState& state = (*states)[PositionOf(*layout, "hidden/kernel")];
  EXPECT_EQ(state.version, 6);
  EXPECT_EQ(state.ledger.low_water(), 0) << "no batch of this job is applied";
  EXPECT_EQ(Values(state.values), std::vector<float>(state.values.count(), 1));
  std::vector<float> slots(state.values.count(), 2);
  slots.resize(2 * state.values.count(), 3);
  EXPECT_EQ(Values(state.slots), slots);
}

TEST(UploadStore, TheStateOfAnotherOptimizerIsRefused) {
  TestJobOptions options;
  options.optimizer = "adam";
  options.weights_uploaded = true;
  TestDisk disk;
  const auto layout = MakeLayout(options);
  BufferPool pool;
  UploadStore uploads(disk.store());
  UploadStore::Upload upload = UploadOf(*layout, 0, 1, &pool);
  upload.block.add_slots("momentum");
  upload.values = Filled(&pool, 2 * layout->blocks()[0].count, 1);
  std::vector<UploadStore::Upload> one;
  one.push_back(std::move(upload));
  ASSERT_TRUE(uploads.Store(7, std::move(one)).ok());
  EXPECT_EQ(MakeInitialStates(*layout, &uploads, &pool).status().code(),
            absl::StatusCode::kFailedPrecondition);
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
  block.set_version(-1);
  EXPECT_FALSE(UploadStore::CountValues(block).ok());
  block.set_version(0);
  for (int i = 0; i < 9; ++i) block.add_slots("slot");
  EXPECT_FALSE(UploadStore::CountValues(block).ok());
  block.clear_slots();
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

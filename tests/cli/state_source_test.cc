#include "cli/state_source.h"

#include <cstring>
#include <filesystem>

#include "cluster/partition_map.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/snapshot_store.h"
#include "tests/cli/example_job.h"

namespace cairn::cli {
namespace {

using ::testing::HasSubstr;

class StateSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    state_ = testing::TempDir() + "/state_source_" + test->name();
    WriteExampleState(state_);
    auto source = StateSource::Open(state_);
    ASSERT_TRUE(source.ok()) << source.status();
    source_ = *std::move(source);
  }

  std::string state_;
  std::unique_ptr<StateSource> source_;
};

TEST_F(StateSourceTest, JobsAreThoseOfTheJournal) {
  const auto jobs = source_->ListJobs();
  ASSERT_TRUE(jobs.ok()) << jobs.status();
  ASSERT_EQ(jobs->size(), 1);
  EXPECT_EQ((*jobs)[0].state(), proto::FINISHED);
  EXPECT_EQ(source_->GetJob("example")->job_id(), 1u);
  EXPECT_EQ(source_->GetJob("1")->name(), "example");
  EXPECT_EQ(source_->GetJob("nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StateSourceTest, HistoryHasBatchesAndEvaluations) {
  std::vector<int64_t> batches;
  int evaluations = 0;
  ASSERT_TRUE(source_
                  ->ReadHistory("example",
                                [&](const proto::HistoryChunk& chunk) {
                                  EXPECT_EQ(chunk.batches_per_epoch(), 3);
                                  for (const auto& b : chunk.batches())
                                    batches.push_back(b.batch());
                                  evaluations += chunk.evaluations_size();
                                })
                  .ok());
  EXPECT_THAT(batches, testing::ElementsAre(0, 1, 2, 3, 5));
  EXPECT_EQ(evaluations, 1);
}

TEST_F(StateSourceTest, ValuesOfACheckpointAreReadFromEveryPs) {
  const auto values = source_->ReadVariables(ExamplePlan(), ExampleManifest());
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ(*values, ExampleValues());
}

TEST_F(StateSourceTest, TheOptimizersStateIsReadWithTheValues) {
  const auto states = source_->ReadStates(ExamplePlan(), ExampleManifest());
  ASSERT_TRUE(states.ok()) << states.status();
  ASSERT_EQ(states->size(), 2u);
  float slot = 0;
  std::memset(&slot, 0x7f, sizeof(slot));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*states)[i].values, ExampleValues()[i]);
    EXPECT_EQ((*states)[i].version, 6);
    EXPECT_THAT((*states)[i].slots, testing::ElementsAre("momentum"));
    EXPECT_EQ((*states)[i].slot_values[0], std::vector<float>(ExampleValues()[i].size(), slot));
  }
}

TEST_F(StateSourceTest, TheAverageOfUseEmaIsTheTrainedModel) {
  const proto::PartitionMap map = ExamplePlan().partition();
  for (uint32_t ps = 0; ps < 2; ++ps) {
    const auto store = *storage::SnapshotStore::Open(state_ + "/ps-" + std::to_string(ps));
    const auto writer = *store->BeginSnapshot(1, /*checkpoint=*/3);
    for (const uint32_t block : cluster::BlocksOfPs(map, ps)) {
      const auto& placed = map.blocks(static_cast<int>(block));
      proto::BlockHeader header;
      header.set_variable(map.variables(static_cast<int>(placed.variable())).name());
      header.set_row_begin(placed.row_begin());
      header.set_row_end(placed.row_end());
      header.set_version(6);
      header.add_slots("average");
      const std::vector<float> floats(2 * cluster::BlockElements(map, block), 5);
      const std::string_view bytes(reinterpret_cast<const char*>(floats.data()),
                                   floats.size() * sizeof(float));
      const std::string zeros(bytes.size() / 2, '\0');
      const std::string_view pieces[] = {zeros, bytes.substr(bytes.size() / 2)};
      ASSERT_TRUE(writer->Add(block, header.SerializeAsString(), pieces).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
  }
  proto::Manifest manifest = ExampleManifest();
  manifest.set_checkpoint(3);
  const auto values = source_->ReadVariables(ExamplePlan(), manifest);
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_EQ((*values)[0], std::vector<float>(12, 5));
  EXPECT_EQ((*source_->ReadStates(ExamplePlan(), manifest))[0].values, std::vector<float>(12, 0));
}

TEST_F(StateSourceTest, LostStoreAndUnknownCheckpointAreErrors) {
  proto::Manifest unknown = ExampleManifest();
  unknown.set_checkpoint(7);
  EXPECT_EQ(source_->ReadVariables(ExamplePlan(), unknown).status().code(),
            absl::StatusCode::kNotFound);
  std::filesystem::remove_all(state_ + "/ps-1");
  EXPECT_EQ(source_->ReadVariables(ExamplePlan(), ExampleManifest()).status().code(),
            absl::StatusCode::kNotFound);
}

TEST(StateSourceWithoutStateTest, DirectoryOnWhichNothingRanIsNamed) {
  const auto source = StateSource::Open("/no/such/state");
  EXPECT_EQ(source.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(source.status().message()), HasSubstr("/no/such/state"));
}

}  // namespace
}  // namespace cairn::cli

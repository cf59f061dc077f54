#include "parameters/snapshots/replica_loader.h"

#include <gtest/gtest.h>

#include "tests/parameters/replicated_peer.h"
#include "tests/parameters/test_disk.h"

namespace cairn::parameters {
namespace {

const TestJobOptions kJob = {
    .optimizer = "adam", .synchronous = true, .batches_per_update = 2, .ps_count = 2};

// Both members have applied two updates. One is lost and loads everything from the other.
class ReplicaLoaderTest : public ::testing::Test {
 protected:
  ReplicaLoaderTest() {
    const std::string root = FreshRoot();
    for (uint32_t ps = 0; ps < 2; ++ps) {
      peers_.push_back(std::make_unique<ReplicatedPeer>(ps, root));
      addresses_.push_back(peers_.back()->address());
    }
    for (const auto& peer : peers_) peer->Install(kJob, 1, addresses_);
    for (int64_t batch = 0; batch < 4; batch += 2) {
      std::vector<std::shared_ptr<Mailbox<std::vector<BlockReply>>>> answers;
      for (const auto& peer : peers_) {
        answers.push_back(peer->Push(batch, 1));
        answers.push_back(peer->Push(batch + 1, static_cast<float>(batch)));
      }
      for (const auto& answer : answers) EXPECT_TRUE(answer->Take().front().status.ok());
    }
    fetcher_.SetCluster(addresses_, kPeerCluster);
    source_.set_version(4);
    source_.add_holders(0);
  }

  // Of ps 1.
  std::shared_ptr<const JobLayout> Layout(JobLayout::Part part) {
    TestJobOptions job = kJob;
    job.ps = 1;
    return ZeroBlocks(job, part, &pool_).first;
  }
  absl::StatusOr<std::vector<BlockState>> Load(const JobLayout& layout,
                                               const ReplicaSet* kept = nullptr) {
    return ReplicaLoader(1, &fetcher_, &pool_).Load(layout, source_, kept, stop_);
  }

  std::vector<std::unique_ptr<ReplicatedPeer>> peers_;
  std::vector<std::string> addresses_;
  SnapshotFetcher fetcher_{"ps 1"};
  BufferPool pool_;
  proto::ReplicaSource source_;
  std::atomic<bool> stop_ = false;
};

TEST_F(ReplicaLoaderTest, AllBlocksComeFromAnotherMembersMemory) {
  const auto lost = peers_[1]->memory()->replicas();
  peers_[0]->memory()->EndGeneration(absl::AbortedError("the next generation begins"));
  for (const JobLayout::Part part : {JobLayout::Part::kOwned, JobLayout::Part::kReplicas}) {
    const std::shared_ptr<const JobLayout> layout = Layout(part);
    const auto loaded = Load(*layout);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    for (size_t position = 0; position < loaded->size(); ++position) {
      const BlockState& state = (*loaded)[position];
      const BlockState expected = lost->Find(layout->blocks()[position].id, 4)->state;
      EXPECT_EQ(Values(state.values), Values(expected.values));
      EXPECT_EQ(state.version, expected.version);
      EXPECT_EQ(state.ledger, expected.ledger);
      ASSERT_EQ(static_cast<bool>(state.slots), static_cast<bool>(expected.slots));
      if (!state.slots) continue;
      EXPECT_EQ(Values(state.slots), Values(expected.slots));
    }
  }
}

TEST_F(ReplicaLoaderTest, WhatIsInTheOwnMemoryIsNotFetched) {
  const auto kept = peers_[1]->memory()->replicas();
  peers_[0]->Stop();
  EXPECT_TRUE(Load(*Layout(JobLayout::Part::kOwned), kept.get()).ok());
}

TEST_F(ReplicaLoaderTest, AVersionThatNobodyHasIsATransientError) {
  source_.set_version(8);
  const auto kept = peers_[1]->memory()->replicas();
  const auto loaded = Load(*Layout(JobLayout::Part::kOwned), kept.get());
  EXPECT_TRUE(absl::IsNotFound(loaded.status())) << loaded.status();
  source_.clear_holders();
  EXPECT_TRUE(absl::IsUnavailable(Load(*Layout(JobLayout::Part::kOwned)).status()));
}

TEST_F(ReplicaLoaderTest, ALoadThatIsReplacedEnds) {
  stop_ = true;
  EXPECT_TRUE(absl::IsCancelled(Load(*Layout(JobLayout::Part::kOwned)).status()));
}

// Some were uploaded to this ps, the others to another one, wherever the blocks are now.
TEST_F(ReplicaLoaderTest, UploadedInitialValuesComeFromWhereTheyWereUploaded) {
  TestJobOptions job = kJob;
  job.ps = 1;
  TestDisk disk;
  UploadStore own(disk.store());
  for (const JobLayout::Part part : {JobLayout::Part::kReplicas, JobLayout::Part::kOwned}) {
    const std::shared_ptr<const JobLayout> layout = Layout(part);
    proto::PartitionMap places = layout->plan().partition();
    std::vector<UploadStore::Upload> uploads[2];
    for (size_t position = 0; position < layout->blocks().size(); ++position) {
      const BlockSpec& block = layout->blocks()[position];
      const uint32_t ps = position % 2;
      places.mutable_blocks(static_cast<int>(block.id))->set_ps(ps);
      const nn::VariableSpec& variable = layout->variables()[block.variable];
      UploadStore::Upload& upload = uploads[ps].emplace_back();
      upload.block.set_block(block.id);
      upload.block.set_variable(variable.name);
      upload.block.mutable_variable_shape()->Assign(variable.shape.begin(), variable.shape.end());
      upload.block.set_row_begin(block.row_begin);
      upload.block.set_row_end(block.row_end);
      upload.values = Filled(&pool_, block.count, static_cast<float>(block.id));
    }
    ASSERT_FALSE(uploads[1].empty());
    ASSERT_TRUE(peers_[0]->uploads()->Store(7, std::move(uploads[0])).ok());
    ASSERT_TRUE(own.Store(7, std::move(uploads[1])).ok());
    std::vector<BlockState> states = ZeroBlocks(job, part, &pool_).second;
    const ReplicaLoader loader(1, &fetcher_, &pool_);
    const absl::Status fetched = loader.FetchUploads(*layout, places, &own, &states);
    ASSERT_TRUE(fetched.ok()) << fetched;
    for (size_t i = 0; i < states.size(); ++i) {
      EXPECT_EQ(states[i].values.data()[0], static_cast<float>(layout->blocks()[i].id));
    }
    EXPECT_TRUE(absl::IsInvalidArgument(
        loader.FetchUploads(*layout, proto::PartitionMap(), &own, &states)));
  }
}

}  // namespace
}  // namespace cairn::parameters

#include "parameters/snapshots/checkpoint_loader.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "cluster/partition_map.h"
#include "nn/model.h"
#include "parameters/snapshots/snapshot.h"
#include "parameters/snapshots/snapshot_copier.h"
#include "tests/parameters/test_peer.h"
#include "tests/parameters/test_store.h"

namespace cairn::parameters {
namespace {

constexpr uint64_t kCheckpoint = 4;

// An Adam job that was trained briefly on two ps and checkpointed there, and the expected states of
// its blocks.
class CheckpointLoaderTest : public ::testing::Test {
 protected:
  CheckpointLoaderTest() : root_(FreshRoot()) {
    for (uint32_t ps = 0; ps < 2; ++ps) {
      peers_.push_back(std::make_unique<TestPeer>(ps, root_));
      *command_.add_parts() = WritePart(ps);
      command_.mutable_parts(ps)->add_holders(ps);
    }
    command_.set_checkpoint(kCheckpoint);
    *command_.mutable_source() = MakePlan(Job(0)).partition();
  }

  static TestJobOptions Job(uint32_t ps) {
    TestJobOptions job;
    job.optimizer = "adam";
    job.learning_rate = 0.01;
    job.hidden_units = 60;
    job.ps_count = 2;
    job.ps = ps;
    return job;
  }

  proto::SnapshotSource WritePart(uint32_t ps) {
    TestStore trained(Job(ps));
    for (const int64_t batch : {0, 1, 5}) trained.Push(batch, 0.3f * static_cast<float>(batch + 1));
    const auto cut = *trained.store.MakeCut(7, 1, kCheckpoint);
    const auto written = WriteSnapshot(*cut, false, peers_[ps]->store());
    EXPECT_TRUE(written.ok()) << written.status();
    for (size_t i = 0; i < cut->states.size(); ++i) {
      const uint32_t id = trained.layout->blocks()[i].id;
      expected_[id] = Bits(cut->states[i]);
    }
    proto::SnapshotSource source;
    source.mutable_part()->set_ps(ps);
    source.mutable_part()->set_checksum(written->checksum);
    return source;
  }

  static std::string Bits(const BlockState& state) {
    std::string bits = absl::StrCat(state.version, " ", state.ledger.ToProto().ShortDebugString());
    for (const BlockBuffer& buffer : {state.values, state.slots}) {
      if (!buffer) continue;
      bits.append(reinterpret_cast<const char*>(buffer.data()), buffer.count() * sizeof(float));
    }
    return bits;
  }

  // Loads the blocks of `ps` of `ps_count` on the peer with that index (created if necessary) and
  // compares them with the expected states. Returns their number.
  size_t LoadAndCompare(uint32_t ps, uint32_t ps_count) {
    proto::JobPlan plan = MakePlan(Job(0));
    *plan.mutable_partition() = cluster::RebalanceBlocks(plan.partition(), ps_count);
    const auto layout =
        *JobLayout::Create(plan, (*nn::Model::Create(plan.model()))->variables(), ps);
    if (ps >= peers_.size()) peers_.push_back(std::make_unique<TestPeer>(ps, root_));
    SnapshotFetcher fetcher(absl::StrCat("ps ", ps), silence_);
    std::vector<std::string> addresses;
    for (const auto& peer : peers_) addresses.push_back(peer->address());
    fetcher.SetCluster(addresses, kPeerCluster);
    const CheckpointLoader loader(ps, &peers_[ps]->catalog(), &fetcher, peers_[ps]->pool());
    const auto states = loader.Load(*layout, command_, /*stop=*/false);
    status_ = states.status();
    if (!states.ok()) return 0;
    for (size_t i = 0; i < states->size(); ++i) {
      EXPECT_EQ(Bits((*states)[i]), expected_[layout->blocks()[i].id]) << layout->blocks()[i].name;
    }
    return states->size();
  }

  // Copies ps 0's part to ps 1. The command lists ps 1 as a holder or not.
  void CopyToNeighbour() {
    SnapshotFetcher fetcher("ps 1");
    fetcher.SetCluster({peers_[0]->address(), peers_[1]->address()}, kPeerCluster);
    SnapshotCopier copier(peers_[1]->store(), &fetcher);
    const auto blocks = cluster::BlocksOfPs(command_.source(), 0);
    ASSERT_TRUE(copier.Copy({0, 7, kCheckpoint, command_.parts(0).part()}, blocks).ok());
  }
  // Overwrites a few bytes of ps 0's part on the disk of `ps`.
  void Spoil(uint32_t ps) {
    std::fstream file(absl::StrCat(root_, "/ps-", ps, "/job-7.checkpoint-4",
                                   ps == 0 ? "" : ".copy-of-ps-0", ".sst"),
                      std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file.is_open());
    file.seekp(200);
    file.write("????????", 8);
  }

  const std::string root_;
  std::vector<std::unique_ptr<TestPeer>> peers_;
  proto::Restore command_;
  std::map<uint32_t, std::string> expected_;  // By block id.
  absl::Status status_;
  absl::Duration silence_ = absl::Seconds(30);
};

TEST_F(CheckpointLoaderTest, BlocksMoveWithTheirStateToMoreAndToFewerPs) {
  for (const uint32_t ps_count : {1, 2, 3}) {
    size_t blocks = 0;
    for (uint32_t ps = 0; ps < ps_count; ++ps) {
      blocks += LoadAndCompare(ps, ps_count);
      EXPECT_TRUE(status_.ok()) << status_;
    }
    EXPECT_EQ(blocks, expected_.size()) << ps_count << " ps";
  }
}

TEST_F(CheckpointLoaderTest, ALostDiskIsReplacedByACopy) {
  CopyToNeighbour();
  command_.mutable_parts(0)->set_holders(0, 1);
  ASSERT_TRUE(peers_[0]->store()->DeleteJob(7).ok());
  EXPECT_GT(LoadAndCompare(0, 2), 0u);
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(CheckpointLoaderTest, ADamagedSnapshotIsReadElsewhereOrReported) {
  CopyToNeighbour();
  Spoil(0);
  EXPECT_EQ(LoadAndCompare(0, 2), 0u);
  EXPECT_TRUE(absl::IsDataLoss(status_)) << status_;
  EXPECT_FALSE(CheckpointLoader::IsTransient(status_));
  command_.mutable_parts(0)->add_holders(1);
  EXPECT_GT(LoadAndCompare(0, 2), 0u);
  EXPECT_TRUE(status_.ok()) << status_;
}

// Not transient: the coordinator must try an older checkpoint.
TEST_F(CheckpointLoaderTest, ADamagedCopyIsAPermanentError) {
  CopyToNeighbour();
  Spoil(1);
  ASSERT_TRUE(peers_[0]->store()->DeleteJob(7).ok());
  command_.mutable_parts(0)->set_holders(0, 1);
  EXPECT_EQ(LoadAndCompare(0, 2), 0u);
  EXPECT_TRUE(absl::IsDataLoss(status_)) << status_;
  EXPECT_FALSE(CheckpointLoader::IsTransient(status_));
}

TEST_F(CheckpointLoaderTest, APsThatDoesNotAnswerIsATransientError) {
  silence_ = absl::Milliseconds(50);
  peers_[1]->Stop();
  EXPECT_EQ(LoadAndCompare(0, 1), 0u);
  EXPECT_TRUE(CheckpointLoader::IsTransient(status_)) << status_;
}

}  // namespace
}  // namespace cairn::parameters

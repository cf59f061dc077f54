#include "parameters/update_replicator.h"

#include <gtest/gtest.h>

#include "tests/parameters/replicated_peer.h"

namespace cairn::parameters {
namespace {

const TestJobOptions kJob = {.synchronous = true, .batches_per_update = 2, .ps_count = 3};

class UpdateReplicatorTest : public ::testing::Test {
 protected:
  UpdateReplicatorTest() {
    const std::string root = FreshRoot();
    std::vector<std::string> addresses;
    for (uint32_t ps = 0; ps < 3; ++ps) {
      peers_.push_back(std::make_unique<ReplicatedPeer>(ps, root));
      addresses.push_back(peers_.back()->address());
    }
    for (const auto& peer : peers_) peer->Install(kJob, 1, addresses);
    cluster::PsClientOptions options;
    options.addresses = addresses;
    options.cluster_id = kPeerCluster;
    options.sender = "worker 0";
    client_ = std::make_unique<cluster::PsClient>(options);
  }

  // Pulls the first value of a pushed block of `owner` from another member, or from itself.
  std::shared_ptr<Mailbox<float>> Pull(int from, int owner, int64_t batch, bool early) {
    const BlockSpec& block = peers_[owner]->memory()->current()->layout()->blocks().front();
    proto::PullHeader header;
    header.set_job_id(7);
    header.set_generation(1);
    header.set_batch(batch);
    header.set_early(early);
    header.add_blocks(block.id);
    auto values = std::make_shared<std::vector<float>>(block.count);
    auto box = std::make_shared<Mailbox<float>>();
    client_->Pull(from, header, {absl::MakeSpan(*values)},
                  [values, box](const absl::StatusOr<proto::PullReplyHeader>& reply) {
                    box->Put(reply.ok() ? values->front() : -100);
                  });
    return box;
  }

  static void ExpectOk(const std::vector<BlockReply>& replies) {
    for (const BlockReply& reply : replies) EXPECT_TRUE(reply.status.ok()) << reply.status;
  }

  std::vector<std::unique_ptr<ReplicatedPeer>> peers_;
  std::unique_ptr<cluster::PsClient> client_;
};

TEST_F(UpdateReplicatorTest, AnUpdateIsAppliedWhenAllReplicasHaveIt) {
  peers_[2]->Stop();
  const auto first = peers_[0]->Push(0, -1);
  const auto second = peers_[0]->Push(1, -3);
  // The other one has it soon; the owner waits for both.
  while (peers_[1]->memory()->replicas()->versions().newest < 2) {
    const auto replicas = (*peers_[1]->memory()->FindReplicas(7, 1))->Replicas();
    if (std::any_of(replicas.begin(), replicas.end(),
                    [](const ReplicatedState& state) { return state.next.has_value(); })) {
      break;
    }
  }
  EXPECT_EQ(first->size() + second->size(), 0u);
  peers_[2]->Serve(peers_[2]->port());
  ExpectOk(first->Take());
  ExpectOk(second->Take());
  const auto found = peers_[1]->memory()->replicas();
  const BlockSpec& block = peers_[0]->memory()->current()->layout()->blocks().front();
  ASSERT_TRUE(block.pushed());
  EXPECT_EQ(found->Find(block.id, 2)->state.values.data()[0], 2);
  EXPECT_EQ(found->Find(block.id, 0)->state.values.data()[0], 0);
}

TEST_F(UpdateReplicatorTest, AnEarlyPullDoesNotWaitForAllReplicas) {
  peers_[2]->Stop();
  const auto from_replica = Pull(1, 0, 2, /*early=*/true);
  const auto from_owner = Pull(0, 0, 2, /*early=*/true);
  const auto visible = Pull(0, 0, 2, /*early=*/false);
  const auto first = peers_[0]->Push(0, -1);
  const auto second = peers_[0]->Push(1, -3);
  EXPECT_EQ(from_replica->Take(), 2);
  EXPECT_EQ(from_owner->Take(), 2);
  // For the batches of the update itself all have the values before it.
  EXPECT_EQ(Pull(1, 0, 1, /*early=*/true)->Take(), 0);
  EXPECT_EQ(Pull(0, 0, 1, /*early=*/true)->Take(), 0);
  EXPECT_EQ(visible->size() + first->size() + second->size(), 0u);
  peers_[2]->Serve(peers_[2]->port());
  EXPECT_EQ(visible->Take(), 2);
  ExpectOk(first->Take());
  ExpectOk(second->Take());
}

TEST_F(UpdateReplicatorTest, AMemberThatEndedTheGenerationGetsNoUpdate) {
  peers_[2]->memory()->EndGeneration(absl::AbortedError("the next generation begins"));
  peers_[0]->Push(0, -1);
  const std::vector<BlockReply> replies = peers_[0]->Push(1, -3)->Take();
  ASSERT_FALSE(replies.empty());
  EXPECT_TRUE(absl::IsUnavailable(replies.front().status)) << replies.front().status;
  EXPECT_EQ(peers_[0]->memory()->replicas()->versions().newest, 0);
  EXPECT_EQ(peers_[2]->memory()->replicas()->versions().newest, 0);
}

TEST_F(UpdateReplicatorTest, StopEndsACallThatHasNoAnswer) {
  peers_[1]->Stop();
  peers_[0]->Push(0, -1);
  const auto pushed = peers_[0]->Push(1, -3);
  peers_[0]->memory()->EndGeneration(absl::AbortedError("the next generation begins"));
  EXPECT_TRUE(absl::IsAborted(pushed->Take().front().status));
}

}  // namespace
}  // namespace cairn::parameters

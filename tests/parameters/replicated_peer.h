#ifndef CAIRN_TESTS_PARAMETERS_REPLICATED_PEER_H_
#define CAIRN_TESTS_PARAMETERS_REPLICATED_PEER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/model.h"
#include "parameters/initial_values.h"
#include "parameters/job_blocks.h"
#include "parameters/update_replicator.h"
#include "tests/parameters/test_job.h"
#include "tests/parameters/test_peer.h"
#include "tests/parameters/test_store.h"

namespace cairn::parameters {

// The blocks of one part of a member, all zero.
inline std::pair<std::shared_ptr<const JobLayout>, std::vector<BlockState>> ZeroBlocks(
    const TestJobOptions& job, JobLayout::Part part, BufferPool* pool) {
  const proto::JobPlan plan = MakePlan(job);
  std::shared_ptr<const JobLayout> layout =
      *JobLayout::Create(plan, (*nn::Model::Create(plan.model()))->variables(), job.ps, part);
  std::vector<BlockState> states = *MakeInitialStates(*layout, nullptr, pool);
  for (BlockState& state : states) {
    std::fill_n(state.values.data(), state.values.count(), 0.0f);
  }
  return {std::move(layout), std::move(states)};
}

// A member of a cluster whose workers hold the parameters: it serves its blocks and replicas.
struct ReplicatedPeer : TestPeer {
  ReplicatedPeer(uint32_t ps, const std::string& root) : TestPeer(ps, root), owners(2, 1024) {}
  ~ReplicatedPeer() { memory()->Drop(absl::UnavailableError("the test ends")); }

  // Begins a generation; `peers`: of all members.
  void Install(TestJobOptions job, uint64_t generation, const std::vector<std::string>& peers) {
    job.ps = ps();
    auto [own_layout, own] = ZeroBlocks(job, JobLayout::Part::kOwned, pool());
    auto [other_layout, others] = ZeroBlocks(job, JobLayout::Part::kReplicas, pool());
    cluster::PsClientOptions options;
    options.addresses = peers;
    options.cluster_id = kPeerCluster;
    options.sender = "a member";
    options.first_delay = absl::Milliseconds(1);
    options.max_delay = absl::Milliseconds(20);
    JobBlocks::Options with_replicas;
    with_replicas.replicator =
        std::make_shared<UpdateReplicator>(ps(), own_layout, generation, options);
    JobBlocks::Options of_replicas;
    of_replicas.block.is_replica = true;
    memory()->Install(JobBlocks::Create(own_layout, {generation, 0}, std::move(own), &owners,
                                        pool(), with_replicas),
                      JobBlocks::Create(other_layout, {generation, 0}, std::move(others), &owners,
                                        pool(), of_replicas));
  }

  // Pushes a batch to all own blocks and returns the mailbox with the reply.
  std::shared_ptr<Mailbox<std::vector<BlockReply>>> Push(int64_t batch, float value) {
    const std::shared_ptr<JobBlocks> job = memory()->current();
    std::vector<BlockPush> pushes;
    for (size_t position = 0; position < job->layout()->blocks().size(); ++position) {
      const BlockSpec& block = job->layout()->blocks()[position];
      if (!block.pushed()) continue;
      pushes.push_back({.position = static_cast<int>(position),
                        .batch = batch,
                        .gradient = Filled(pool(), block.count, value)});
    }
    auto box = std::make_shared<Mailbox<std::vector<BlockReply>>>();
    job->Push(std::move(pushes),
              [box](std::vector<BlockReply> replies) { box->Put(std::move(replies)); });
    return box;
  }

  OwnerThreads owners;
};

}  // namespace cairn::parameters

#endif  // CAIRN_TESTS_PARAMETERS_REPLICATED_PEER_H_

#include "parameters/update_replicator.h"

#include <atomic>
#include <utility>

#include "absl/types/span.h"
#include "cluster/partition_map.h"
#include "common/failpoint.h"

namespace cairn::parameters {
namespace {

// Counts the answers of the replicas.
class Answers {
 public:
  Answers(int missing, absl::AnyInvocable<void(const absl::Status&)> done)
      : missing_(missing), done_(std::move(done)) {}

  void Add(const absl::Status& status) {
    bool complete = false;
    {
      MutexLock lock(&mutex_);
      result_.Update(status);
      complete = --missing_ == 0;
    }
    if (complete) done_(result_);
  }

 private:
  Mutex mutex_;
  int missing_;
  absl::Status result_;  // Not changed after the last answer.
  absl::AnyInvocable<void(const absl::Status&)> done_;
};

std::vector<uint32_t> PeersOf(uint32_t ps, const proto::PartitionMap& partition) {
  std::vector<uint32_t> peers = cluster::MembersOf(partition);
  std::erase(peers, ps);
  return peers;
}

}  // namespace

UpdateReplicator::UpdateReplicator(uint32_t ps, std::shared_ptr<const JobLayout> layout,
                                   uint64_t generation, const cluster::PsClientOptions& peers)
    : layout_(std::move(layout)),
      generation_(generation),
      peers_(PeersOf(ps, layout_->plan().partition())),
      client_(std::make_shared<cluster::PsClient>(peers)) {}

UpdateReplicator::~UpdateReplicator() { Stop(); }

void UpdateReplicator::Stop() {
  std::shared_ptr<cluster::PsClient> client;
  {
    MutexLock lock(&mutex_);
    client = std::move(client_);
  }
  // Its destructor cancels all calls and waits for them.
}

void UpdateReplicator::Send(std::vector<ReducedBlock> blocks,
                            absl::AnyInvocable<void(const absl::Status&)> done) {
  CAIRN_FAILPOINT("ps.replicate").IgnoreError();
  if (peers_.empty()) return done(absl::OkStatus());
  proto::PushHeader header;
  header.set_job_id(layout_->job_id());
  header.set_generation(generation_);
  header.set_batch(blocks.front().batch);
  header.set_examples(1);
  std::vector<float> scales_without;
  // Every piece keeps all means alive until the last call has ended.
  const auto owner = std::make_shared<const std::vector<ReducedBlock>>(std::move(blocks));
  std::vector<cluster::FramePiece> pieces;
  for (const ReducedBlock& block : *owner) {
    const uint32_t id = layout_->blocks()[block.position].id;
    if (!block.mean) {
      header.add_applied_blocks(id);
      scales_without.push_back(block.scale);
      continue;
    }
    header.add_blocks(id);
    header.mutable_reduced()->add_scales(block.scale);
    pieces.push_back(cluster::FramePiece::OfFloats(
        {block.mean.data(), static_cast<size_t>(block.mean.count())}, owner));
  }
  for (const float scale : scales_without) header.mutable_reduced()->add_scales(scale);
  const auto answers = std::make_shared<Answers>(static_cast<int>(peers_.size()), std::move(done));
  // The lock keeps Stop from destroying the client meanwhile; callbacks do not run on this thread.
  MutexLock lock(&mutex_);
  for (const uint32_t ps : peers_) {
    if (client_ == nullptr) {
      answers->Add(absl::CancelledError("the generation of the job has ended"));
      continue;
    }
    client_->Push(static_cast<int>(ps), header, pieces, {},
                  [answers](const absl::StatusOr<proto::PushReplyHeader>& reply) {
                    answers->Add(reply.status());
                  });
  }
}

}  // namespace cairn::parameters

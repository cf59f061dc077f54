#include "parameters/update_replicator.h"

#include <atomic>
#include <utility>

#include "absl/types/span.h"
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

}  // namespace

UpdateReplicator::UpdateReplicator(uint32_t ps, std::shared_ptr<const JobLayout> layout,
                                   uint64_t generation, const cluster::PsClientOptions& peers)
    : ps_(ps),
      layout_(std::move(layout)),
      generation_(generation),
      peer_count_(static_cast<int>(peers.addresses.size())),
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
  const auto answers = std::make_shared<Answers>(peer_count_ - 1, std::move(done));
  // The lock keeps Stop from destroying the client meanwhile; callbacks do not run on this thread.
  MutexLock lock(&mutex_);
  for (int ps = 0; ps < peer_count_; ++ps) {
    if (static_cast<uint32_t>(ps) == ps_) continue;
    if (client_ == nullptr) {
      answers->Add(absl::CancelledError("the generation of the job has ended"));
      continue;
    }
    client_->Push(ps, header, pieces, {},
                  [answers](const absl::StatusOr<proto::PushReplyHeader>& reply) {
                    answers->Add(reply.status());
                  });
  }
}

}  // namespace cairn::parameters

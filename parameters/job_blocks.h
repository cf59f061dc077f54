#ifndef CAIRN_PARAMETERS_JOB_BLOCKS_H_
#define CAIRN_PARAMETERS_JOB_BLOCKS_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "parameters/blocks/block.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/reply_collector.h"
#include "parameters/blocks/update_rule.h"
#include "parameters/owner_threads.h"
#include "storage/rate_changes.h"

namespace cairn::parameters {

// Identifies the blocks that were loaded from one checkpoint in one generation.
struct JobGeneration {
  uint64_t generation = 0;
  uint64_t checkpoint = 0;
};

// All blocks of one job on this ps in one generation, each on its owner thread. A request for
// several blocks is split by owner and answered once. Thread-safe. Call Close before releasing the
// last reference.
class JobBlocks : public std::enable_shared_from_this<JobBlocks> {
 public:
  // The factor of one block's update.
  struct Scale {
    int position = 0;
    float scale = 1;
  };

  // Sends reduced updates, all of the same update, to every replica. `done` is called exactly once,
  // possibly at once, with OK when all have received them.
  class Replicator {
   public:
    virtual ~Replicator() = default;
    virtual void Send(std::vector<ReducedBlock> blocks,
                      absl::AnyInvocable<void(const absl::Status&)> done) = 0;
    // Ends all calls and waits for their callbacks. Later ones are answered at once.
    virtual void Stop() = 0;
  };

  struct Options {
    Block::Options block = {};
    // Not null: the blocks have replicas.
    std::shared_ptr<Replicator> replicator = nullptr;
    // The number of pulls that may be parked; more are answered RESOURCE_EXHAUSTED. Must be less
    // than the number of calls that the server accepts (cluster::DataServerOptions), because parked
    // pulls wait for pushes, which must always get in.
    size_t waiting_pulls_max = 8192;
  };

  // `states` has one element for each of layout->blocks(). `owners` and `pool` must outlive the
  // result.
  static std::shared_ptr<JobBlocks> Create(std::shared_ptr<const JobLayout> layout,
                                           JobGeneration generation, std::vector<BlockState> states,
                                           OwnerThreads* owners, BufferPool* pool,
                                           const Options& options);
  ~JobBlocks();

  const std::shared_ptr<const JobLayout>& layout() const { return layout_; }
  uint64_t generation() const { return generation_.generation; }
  uint64_t checkpoint() const { return generation_.checkpoint; }

  // Block::Pull on each of these positions, at least one. `abandoned` is called on any thread until
  // `done` is called. RESOURCE_EXHAUSTED: the queue of a block's owner thread is full.
  void Pull(int64_t batch, std::vector<int> positions, absl::AnyInvocable<bool() const> abandoned,
            RepliesCallback done, bool early = false);

  // Block::Push on the block of each push, at least one. The first error is answered at once and
  // alone. `room` is released when the blocks have taken all gradients.
  void Push(std::vector<BlockPush> pushes, std::shared_ptr<const void> room, RepliesCallback done);
  void Push(std::vector<BlockPush> pushes, RepliesCallback done) {
    Push(std::move(pushes), nullptr, std::move(done));
  }

  // Block::ApplyUpdate on each of these positions, at least one.
  void ApplyUpdate(int64_t batch, std::vector<Scale> scales, RepliesCallback done);

  // Block::Receive on the block of each update, at least one.
  void Receive(std::vector<ReducedBlock> updates, RepliesCallback done);

  // Returns the state of every block, by position. Each state is from between two updates of its
  // block; all are from the same moment only if there are no pushes. Waits until the queues of the
  // owner threads have been processed. Must not be called on an owner thread.
  std::vector<BlockState> Capture();

  // Block::Replicas of every block, by position. Waits like Capture.
  std::vector<ReplicatedState> Replicas();
  // The same; each block is closed in the same step, so it cannot change afterwards.
  std::vector<ReplicatedState> ReplicasAndClose(const absl::Status& why);

  // Applies all updates after this call with these rates. Waits like Capture.
  void SetRates(std::shared_ptr<const storage::RateChanges> rates);

  // Answers all parked calls, and all later calls, with `why`. Waits like Capture.
  void Close(const absl::Status& why);

 private:
  // A call for several blocks.
  struct Request;
  struct PullRequest;
  struct PushRequest;
  struct ApplyRequest;
  struct ReceiveRequest;
  struct WaitingPulls;

  JobBlocks(std::shared_ptr<const JobLayout> layout, JobGeneration generation, BufferPool* pool,
            OwnerThreads* owners, const Options& options);
  // On this owner thread: sends the updates that its blocks have reduced, and computes ahead.
  void SendReduced(int thread);
  void AddBlocks(std::vector<BlockState> states, const Block::Options& options);
  // Queues the request on each owner thread that has a block of it.
  void Dispatch(const std::shared_ptr<Request>& request);

  const std::shared_ptr<const JobLayout> layout_;
  const JobGeneration generation_;
  const UpdateRule rule_;
  OwnerThreads& owners_;
  const std::shared_ptr<WaitingPulls> waiting_pulls_;
  const std::shared_ptr<Replicator> replicator_;  // Null: no replicas.
  // By owner thread: updates that its blocks have reduced in the task that it is running.
  std::vector<std::vector<ReducedBlock>> reduced_;
  std::vector<int> owner_of_;                   // By position.
  std::vector<std::unique_ptr<Block>> blocks_;  // By position; only their owners access them.
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_JOB_BLOCKS_H_

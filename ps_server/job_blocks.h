#ifndef CAIRN_PS_SERVER_JOB_BLOCKS_H_
#define CAIRN_PS_SERVER_JOB_BLOCKS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "ps_server/blocks/block.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/reply_collector.h"
#include "ps_server/blocks/update_rule.h"
#include "ps_server/owner_threads.h"

namespace cairn::ps {

// Which life of a job: its blocks as they were restored from one checkpoint in one generation.
struct JobLife {
  uint64_t generation = 0;
  uint64_t checkpoint = 0;
};

// All blocks of one job on this ps in one generation, each on its owner thread. Thread-safe. Close
// must be called before the last reference goes.
class JobBlocks : public std::enable_shared_from_this<JobBlocks> {
 public:
  // What a block's update is multiplied with.
  struct Scale {
    int position = 0;
    float scale = 1;
  };

  struct Options {
    Block::Options block = {};
    // Pulls that may wait for their turn at once; more are answered RESOURCE_EXHAUSTED. Fewer than
    // the server takes calls (cluster::DataServerOptions): one that need not wait, which others may
    // be waiting for, must always get in.
    size_t waiting_pulls_max = 8192;
  };

  // One state for each of layout->blocks(). `owners` and `pool` must outlive it.
  static std::shared_ptr<JobBlocks> Create(std::shared_ptr<const JobLayout> layout, JobLife life,
                                           std::vector<BlockState> states, OwnerThreads* owners,
                                           BufferPool* pool, const Options& options);
  ~JobBlocks();

  const std::shared_ptr<const JobLayout>& layout() const { return layout_; }
  const JobLife& life() const { return life_; }

  // As Block::Pull on each of these positions, of which there is at least one. `abandoned` must
  // stay callable, from any thread, until `done` is called. A block whose thread has too much to do
  // answers RESOURCE_EXHAUSTED.
  void Pull(int64_t batch, std::vector<int> positions, absl::AnyInvocable<bool() const> abandoned,
            RepliesCallback done);

  // As Block::Push on the block of each push, of which there is at least one. The first error is
  // answered at once, alone.
  void Push(std::vector<BlockPush> pushes, RepliesCallback done);

  // As Block::ApplyUpdate on each of these positions, of which there is at least one.
  void ApplyUpdate(int64_t batch, std::vector<Scale> scales, RepliesCallback done);

  // The state of every block, by position: each at a moment between two updates; all at the same
  // one only if nobody pushes. Blocks for as long as the owners' queues are. Not on an owner.
  std::vector<BlockState> Capture();

  // All that is applied after it has returned is applied with these rates. As blocking as Capture.
  void SetRates(std::shared_ptr<const RateChanges> rates);

  // Answers everything that waits, and all later calls, with `why`. As blocking as Capture.
  void Close(const absl::Status& why);

 private:
  // What is asked of several blocks.
  struct Request;
  struct PullRequest;
  struct PushRequest;
  struct ApplyRequest;
  struct WaitingPulls;

  JobBlocks(std::shared_ptr<const JobLayout> layout, JobLife life, BufferPool* pool,
            OwnerThreads* owners, size_t waiting_pulls_max);
  void AddBlocks(std::vector<BlockState> states, const Block::Options& options);
  // Gives each owner its share of the request.
  void Dispatch(const std::shared_ptr<Request>& request);

  const std::shared_ptr<const JobLayout> layout_;
  const JobLife life_;
  const UpdateRule rule_;
  OwnerThreads& owners_;
  const std::shared_ptr<WaitingPulls> waiting_pulls_;
  std::vector<int> owner_of_;                   // By position.
  std::vector<std::unique_ptr<Block>> blocks_;  // By position; each is touched by its owner only.
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_JOB_BLOCKS_H_

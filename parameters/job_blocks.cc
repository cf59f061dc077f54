#include "parameters/job_blocks.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/check.h"

namespace cairn::parameters {

struct JobBlocks::Request {
  virtual ~Request() = default;
  // Calls the block of positions[index], on its owner thread.
  virtual void Run(const std::shared_ptr<Request>& self, Block* block, size_t index) = 0;

  std::vector<int> positions;
  // Deletes itself when every index has been answered.
  ReplyCollector* replies = nullptr;
};

struct JobBlocks::WaitingPulls {
  explicit WaitingPulls(size_t max) : max(max) {}
  bool TryTake() {
    if (taken.fetch_add(1) < max) return true;
    taken.fetch_sub(1);
    return false;
  }

  const size_t max;
  std::atomic<size_t> taken = 0;
};

struct JobBlocks::PullRequest final : Request {
  ~PullRequest() override {
    if (waits) waiting_pulls->taken.fetch_sub(1);
  }

  void Run(const std::shared_ptr<Request>& self, Block* block, size_t index) override {
    ParkedPulls::Pull pull;
    pull.batch = batch;
    pull.early = early;
    pull.done = replies->CallbackFor(index);
    pull.may_wait = [self] { return static_cast<PullRequest&>(*self).MayWait(); };
    if (abandoned != nullptr) {
      pull.abandoned = [self] { return static_cast<const PullRequest&>(*self).abandoned(); };
    }
    block->Pull(std::move(pull));
  }

  // Decided once for the request, because a request that one block rejects must not wait for
  // another.
  bool MayWait() {
    std::call_once(asked, [this] { waits = waiting_pulls->TryTake(); });
    return waits;
  }

  std::shared_ptr<WaitingPulls> waiting_pulls;
  std::once_flag asked;
  bool waits = false;  // Counted in waiting_pulls.
  int64_t batch = 0;
  bool early = false;
  absl::AnyInvocable<bool() const> abandoned;
};

struct JobBlocks::PushRequest final : Request {
  void Run(const std::shared_ptr<Request>&, Block* block, size_t index) override {
    block->Push(std::move(pushes[index]), replies->CallbackFor(index));
  }

  std::vector<BlockPush> pushes;
  std::shared_ptr<const void> room;
};

struct JobBlocks::ApplyRequest final : Request {
  void Run(const std::shared_ptr<Request>&, Block* block, size_t index) override {
    block->ApplyUpdate(batch, scales[index].scale, replies->CallbackFor(index));
  }

  int64_t batch = 0;
  std::vector<Scale> scales;
};

struct JobBlocks::ReceiveRequest final : Request {
  void Run(const std::shared_ptr<Request>&, Block* block, size_t index) override {
    BlockReply reply;
    reply.status = block->Receive(std::move(updates[index]));
    replies->CallbackFor(index)(std::move(reply));
  }

  std::vector<ReducedBlock> updates;
};

std::shared_ptr<JobBlocks> JobBlocks::Create(std::shared_ptr<const JobLayout> layout,
                                             JobGeneration generation,
                                             std::vector<BlockState> states, OwnerThreads* owners,
                                             BufferPool* pool, const Options& options) {
  std::shared_ptr<JobBlocks> job(
      new JobBlocks(std::move(layout), generation, pool, owners, options));
  job->AddBlocks(std::move(states), options.block);
  return job;
}

JobBlocks::JobBlocks(std::shared_ptr<const JobLayout> layout, JobGeneration generation,
                     BufferPool* pool, OwnerThreads* owners, const Options& options)
    : layout_(std::move(layout)),
      generation_(generation),
      rule_(layout_.get(), pool),
      owners_(*owners),
      waiting_pulls_(std::make_shared<WaitingPulls>(options.waiting_pulls_max)),
      replicator_(options.replicator),
      reduced_(owners->count()) {}

JobBlocks::~JobBlocks() = default;

// Assigns each block to the owner thread with the fewest values so far.
void JobBlocks::AddBlocks(std::vector<BlockState> states, const Block::Options& options) {
  CAIRN_CHECK(states.size() == layout_->blocks().size());
  std::vector<int64_t> load(owners_.count(), 0);
  for (size_t position = 0; position < states.size(); ++position) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += layout_->blocks()[position].count;
    const int thread = static_cast<int>(least - load.begin());
    owner_of_.push_back(thread);
    Block::Options own = options;
    if (replicator_ != nullptr) {
      own.replicate = [this, thread](ReducedBlock update) {
        reduced_[thread].push_back(std::move(update));
      };
    }
    blocks_.push_back(std::make_unique<Block>(layout_.get(), static_cast<int>(position), &rule_,
                                              std::move(states[position]), own));
  }
}

void JobBlocks::Pull(int64_t batch, std::vector<int> positions,
                     absl::AnyInvocable<bool() const> abandoned, RepliesCallback done, bool early) {
  auto request = std::make_shared<PullRequest>();
  request->replies = ReplyCollector::Create(positions.size(), std::move(done));
  request->positions = std::move(positions);
  request->waiting_pulls = waiting_pulls_;
  request->batch = batch;
  request->early = early;
  request->abandoned = std::move(abandoned);
  Dispatch(request);
}

void JobBlocks::Push(std::vector<BlockPush> pushes, std::shared_ptr<const void> room,
                     RepliesCallback done) {
  auto request = std::make_shared<PushRequest>();
  request->room = std::move(room);
  request->replies = ReplyCollector::Create(pushes.size(), std::move(done),
                                            ReplyCollector::OnError::kAnswerAtOnce);
  request->positions.reserve(pushes.size());
  for (const BlockPush& push : pushes) request->positions.push_back(push.position);
  request->pushes = std::move(pushes);
  Dispatch(request);
}

void JobBlocks::ApplyUpdate(int64_t batch, std::vector<Scale> scales, RepliesCallback done) {
  auto request = std::make_shared<ApplyRequest>();
  request->replies = ReplyCollector::Create(scales.size(), std::move(done));
  for (const Scale& scale : scales) request->positions.push_back(scale.position);
  request->batch = batch;
  request->scales = std::move(scales);
  Dispatch(request);
}

void JobBlocks::Receive(std::vector<ReducedBlock> updates, RepliesCallback done) {
  auto request = std::make_shared<ReceiveRequest>();
  request->replies = ReplyCollector::Create(updates.size(), std::move(done));
  for (const ReducedBlock& update : updates) request->positions.push_back(update.position);
  request->updates = std::move(updates);
  Dispatch(request);
}

// A request often completes the update of many blocks: their replicas get it in one message.
void JobBlocks::SendReduced(int thread) {
  std::vector<ReducedBlock> all = std::exchange(reduced_[thread], {});
  std::vector<int> sent;
  for (const ReducedBlock& update : all) sent.push_back(update.position);
  while (!all.empty()) {
    const int64_t batch = all.front().batch;
    const auto rest = std::stable_partition(
        all.begin(), all.end(), [batch](const ReducedBlock& each) { return each.batch == batch; });
    std::vector<ReducedBlock> same(std::make_move_iterator(all.begin()),
                                   std::make_move_iterator(rest));
    all.erase(all.begin(), rest);
    std::vector<int> positions;
    for (const ReducedBlock& update : same) positions.push_back(update.position);
    const std::thread::id owner = std::this_thread::get_id();
    replicator_->Send(std::move(same), [self = shared_from_this(), thread, owner, batch,
                                        positions](const absl::Status& status) {
      absl::AnyInvocable<void()> task = [self, batch, positions, status] {
        for (const int position : positions) self->blocks_[position]->Replicated(batch, status);
      };
      // There are no replicas. The owner thread must not wait for room in its own queue.
      if (status.ok() && std::this_thread::get_id() == owner) return task();
      // The owner thread never waits for this thread, so its queue soon has room.
      while (!self->owners_.TryRun(thread, std::move(task))) absl::SleepFor(absl::Milliseconds(1));
    });
  }
  for (const int position : sent) blocks_[position]->ComputeAhead();
}

void JobBlocks::Dispatch(const std::shared_ptr<Request>& request) {
  // Each owner gets one task with all of its blocks, not one task for each block. The last block
  // may answer the request before this loop ends, which deletes request->replies;
  // request->positions stays valid, because this function has a reference to the request.
  const std::vector<int>& positions = request->positions;
  for (int thread = 0; thread < owners_.count(); ++thread) {
    const auto is_share = [&](int position) { return owner_of_[position] == thread; };
    if (std::none_of(positions.begin(), positions.end(), is_share)) continue;
    absl::AnyInvocable<void()> task = [self = shared_from_this(), request, thread] {
      for (size_t i = 0; i < request->positions.size(); ++i) {
        const int position = request->positions[i];
        if (self->owner_of_[position] != thread) continue;
        request->Run(request, self->blocks_[position].get(), i);
      }
      self->SendReduced(thread);
    };
    if (owners_.TryRun(thread, std::move(task))) continue;
    // The other owners have the request already: only this owner's blocks are refused.
    for (size_t i = 0; i < positions.size(); ++i) {
      if (!is_share(positions[i])) continue;
      BlockReply refusal;
      refusal.status = absl::ResourceExhaustedError(
          absl::StrCat("the queue of ", layout_->blocks()[positions[i]].name,
                       "'s owner thread is full; try again"));
      request->replies->CallbackFor(i)(std::move(refusal));
    }
  }
}

std::vector<BlockState> JobBlocks::Capture() {
  std::vector<BlockState> states(blocks_.size());
  owners_.RunOnAll([&](int thread) {
    for (size_t position = 0; position < blocks_.size(); ++position) {
      if (owner_of_[position] == thread) states[position] = blocks_[position]->state();
    }
  });
  return states;
}

std::vector<ReplicatedState> JobBlocks::Replicas() {
  std::vector<ReplicatedState> states(blocks_.size());
  owners_.RunOnAll([&](int thread) {
    for (size_t position = 0; position < blocks_.size(); ++position) {
      if (owner_of_[position] == thread) states[position] = blocks_[position]->Replicas();
    }
  });
  return states;
}

std::vector<ReplicatedState> JobBlocks::ReplicasAndClose(const absl::Status& why) {
  std::vector<ReplicatedState> states(blocks_.size());
  owners_.RunOnAll([&](int thread) {
    for (size_t position = 0; position < blocks_.size(); ++position) {
      if (owner_of_[position] != thread) continue;
      states[position] = blocks_[position]->Replicas();
      blocks_[position]->Close(why);
    }
  });
  if (replicator_ != nullptr) replicator_->Stop();
  return states;
}

void JobBlocks::SetRates(std::shared_ptr<const storage::RateChanges> rates) {
  owners_.RunOnAll([&](int thread) {
    for (size_t position = 0; position < blocks_.size(); ++position) {
      if (owner_of_[position] == thread) blocks_[position]->SetRates(rates);
    }
  });
}

void JobBlocks::Close(const absl::Status& why) {
  owners_.RunOnAll([&](int thread) {
    for (size_t position = 0; position < blocks_.size(); ++position) {
      if (owner_of_[position] == thread) blocks_[position]->Close(why);
    }
  });
  if (replicator_ != nullptr) replicator_->Stop();
}

}  // namespace cairn::parameters

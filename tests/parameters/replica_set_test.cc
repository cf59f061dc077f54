// Members of a replicated job exchange updates in random order, and any of them are lost at any
// time. Each one that is left must have all blocks in a version that contains every update that a
// worker knows to be applied, with the values of a run without faults.

#include "parameters/replica_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nn/model.h"
#include "parameters/blocks/block.h"
#include "tests/parameters/test_job.h"

namespace cairn::parameters {
namespace {

constexpr int kMembers = 3;
constexpr int kWorkers = 5;       // More than the batches of an update.
constexpr int64_t kBatches = 22;  // The last update is smaller.
constexpr int64_t kPerUpdate = 4;

TestJobOptions JobWith(bool clipped) {
  return {.optimizer = "adam",
          .learning_rate = 0.1,
          .synchronous = true,
          .batches_per_update = kPerUpdate,
          .batches_per_epoch = 12,
          .total_batches = kBatches,
          .ps_count = kMembers,
          .global_clipnorm = clipped ? 1.0 : 0.0};
}

std::shared_ptr<const JobLayout> LayoutOf(const TestJobOptions& job, uint32_t ps,
                                          JobLayout::Part part) {
  const proto::JobPlan plan = MakePlan(job);
  return *JobLayout::Create(plan, (*nn::Model::Create(plan.model()))->variables(), ps, part);
}

// The values of all blocks with slots, by id.
using Snapshot = std::map<uint32_t, std::vector<float>>;

std::vector<float> AllValues(const BlockState& state) {
  std::vector<float> all = Values(state.values);
  if (state.slots) {
    const std::vector<float> slots = Values(state.slots);
    all.insert(all.end(), slots.begin(), slots.end());
  }
  all.push_back(static_cast<float>(state.version));
  return all;
}

class World {
 public:
  World(bool clipped, bool early, uint64_t seed)
      : job_(JobWith(clipped)), clipped_(clipped), early_(early), random_(seed) {
    for (uint32_t ps = 0; ps < kMembers; ++ps) {
      Member& member = members_[ps];
      member.own_layout = LayoutOf(job_, ps, JobLayout::Part::kOwned);
      member.other_layout = LayoutOf(job_, ps, JobLayout::Part::kReplicas);
    }
  }
  ~World() { Close(); }

  // Begins at a version with these states, by block id; nullptr: the first.
  void Begin(const std::map<uint32_t, BlockState>* states) {
    Close();
    messages_.clear();
    sent_.clear();
    reduced_.clear();
    done_.clear();
    workers_.assign(kWorkers, {});
    for (uint32_t ps = 0; ps < kMembers; ++ps) {
      Member& member = members_[ps];
      member.own = MakeBlocks(member.own_layout, ps, /*replicas=*/false, states);
      member.others = MakeBlocks(member.other_layout, ps, /*replicas=*/true, states);
    }
    next_batch_ = 0;
    for (const auto& block : members_[0].own) {
      if (block->spec().pushed()) next_batch_ = block->state().ledger.low_water();
    }
    applied_ = next_batch_;
  }

  // One random event. False: all batches are applied.
  bool Step() {
    if (applied_ == kBatches) return false;
    const size_t choice = random_() % 5;
    if (choice == 0 && !messages_.empty()) {
      Deliver();
    } else if (choice == 1 && !done_.empty()) {
      TellOwner();
    } else if (choice == 2 && !reduced_.empty()) {
      const auto [ps, position] = reduced_.back();
      reduced_.pop_back();
      members_[ps].own[position]->ComputeAhead();
    } else {
      Work(random_() % kWorkers);
    }
    return true;
  }

  // The batches below are known to be applied on all blocks.
  int64_t applied() const { return applied_; }

  std::shared_ptr<const ReplicaSet> Survivor(uint32_t ps) const {
    const Member& member = members_[ps];
    return std::make_shared<const ReplicaSet>(1, member.own_layout, Replicas(member.own),
                                              member.other_layout, Replicas(member.others));
  }

  // The states of all blocks in a version that a member has.
  std::map<uint32_t, BlockState> StatesOf(const ReplicaSet& set, int64_t version) {
    std::map<uint32_t, BlockState> states;
    const int blocks = members_[0].own_layout->plan().partition().blocks_size();
    for (int id = 0; id < blocks; ++id) {
      absl::StatusOr<ReplicaSet::Found> found = set.Find(id, version);
      EXPECT_TRUE(found.ok()) << found.status();
      if (found.ok()) states[id] = found->state;
    }
    return states;
  }

 private:
  using Blocks = std::vector<std::unique_ptr<Block>>;
  struct Member {
    std::shared_ptr<const JobLayout> own_layout;
    std::shared_ptr<const JobLayout> other_layout;
    std::unique_ptr<UpdateRule> own_rule;
    std::unique_ptr<UpdateRule> other_rule;
    Blocks own;
    Blocks others;
  };
  struct Message {
    uint32_t from = 0;
    uint32_t to = 0;
    ReducedBlock update;
  };
  // A worker computes a batch: it pulls all blocks, pushes to all blocks, and, if norms are
  // clipped, applies the update on all blocks.
  struct Worker {
    std::optional<int64_t> batch;
    std::map<uint32_t, float> pulled;  // By block: its first value.
    size_t answers = 0;                // In this phase.
    int phase = 0;
    std::vector<uint32_t> left;  // Blocks without a request of this phase.
    bool early = false;          // It pulls early values.
    // Its next batch, of the next update: it pulls early values, and waits to push.
    struct Ahead {
      int64_t batch = 0;
      std::map<uint32_t, float> pulled;
      std::vector<uint32_t> left;
    };
    std::optional<Ahead> ahead;
  };

  Blocks MakeBlocks(const std::shared_ptr<const JobLayout>& layout, uint32_t ps, bool replicas,
                    const std::map<uint32_t, BlockState>* states) {
    std::unique_ptr<UpdateRule>& rule = replicas ? members_[ps].other_rule : members_[ps].own_rule;
    rule = std::make_unique<UpdateRule>(layout.get(), &pool_);
    Blocks blocks;
    for (size_t position = 0; position < layout->blocks().size(); ++position) {
      const BlockSpec& spec = layout->blocks()[position];
      BlockState state;
      if (states != nullptr) {
        state = states->at(spec.id);
      } else {
        state.values = Filled(&pool_, spec.count, static_cast<float>(spec.id));
        const int slots = layout->slot_count(spec);
        if (slots > 0) state.slots = Filled(&pool_, spec.count * slots, 0);
      }
      Block::Options options;
      options.is_replica = replicas;
      if (!replicas) {
        options.replicate = [this, ps, layout](ReducedBlock update) {
          Replicate(ps, layout->blocks()[update.position].id, std::move(update));
        };
      }
      blocks.push_back(std::make_unique<Block>(layout.get(), static_cast<int>(position), rule.get(),
                                               std::move(state), options));
    }
    return blocks;
  }

  void Replicate(uint32_t ps, uint32_t id, ReducedBlock update) {
    for (uint32_t to = 0; to < kMembers; ++to) {
      if (to == ps) continue;
      Message message = {ps, to, update};
      message.update.position = *members_[to].other_layout->Find(id);
      messages_.push_back(std::move(message));
    }
    sent_[{ps, update.position}] = {update.batch, kMembers - 1};
    reduced_.emplace_back(ps, update.position);
    ids_[{ps, update.position}] = id;
  }

  void Deliver() {
    const size_t at = random_() % messages_.size();
    Message message = messages_[at];
    const bool again = random_() % 8 == 0;
    const absl::Status status =
        members_[message.to].others[message.update.position]->Receive(message.update);
    EXPECT_TRUE(status.ok()) << status;
    if (again) return;  // The reply was lost: the message is repeated.
    messages_.erase(messages_.begin() + static_cast<int64_t>(at));
    const uint32_t id = members_[message.to].other_layout->blocks()[message.update.position].id;
    const int position = *members_[message.from].own_layout->Find(id);
    auto& [batch, missing] = sent_.at({message.from, position});
    EXPECT_EQ(batch, message.update.batch);
    if (--missing == 0) done_.push_back({message.from, position});
  }

  void TellOwner() {
    const size_t at = random_() % done_.size();
    const auto [ps, position] = done_[at];
    done_.erase(done_.begin() + static_cast<int64_t>(at));
    members_[ps].own[position]->Replicated(sent_.at({ps, position}).first, absl::OkStatus());
  }

  void Work(size_t index) {
    Worker& worker = workers_[index];
    if (!worker.batch.has_value()) {
      if (next_batch_ == kBatches) return;
      worker.batch = next_batch_++;
      worker.phase = -1;
      NextPhase(&worker);
    }
    if (worker.left.empty()) return WorkAhead(index);  // It waits for answers.
    const uint32_t id = TakeAny(&worker.left);
    worker.early ? PullEarly(index, *worker.batch, id) : Request(index, id);
  }

  // The ps may have reduced the update of the worker's batch, or will.
  void WorkAhead(size_t index) {
    Worker& worker = workers_[index];
    if (!early_ || worker.phase == 0) return;
    if (!worker.ahead.has_value()) {
      const Consistency& consistency = members_[0].own_layout->consistency();
      if (next_batch_ == kBatches ||
          consistency.UpdateOf(next_batch_) != consistency.UpdateOf(*worker.batch) + 1) {
        return;
      }
      worker.ahead = {next_batch_++, {}, PushedBlocks()};
    }
    if (worker.ahead->left.empty()) return;
    PullEarly(index, worker.ahead->batch, TakeAny(&worker.ahead->left));
  }

  uint32_t TakeAny(std::vector<uint32_t>* left) {
    const auto at = left->begin() + static_cast<int64_t>(random_() % left->size());
    const uint32_t id = *at;
    left->erase(at);
    return id;
  }

  std::vector<uint32_t> PushedBlocks() const {
    std::vector<uint32_t> ids;
    for (const Member& member : members_) {
      for (const auto& block : member.own) {
        if (block->spec().pushed()) ids.push_back(block->spec().id);
      }
    }
    return ids;
  }

  // Null: the block is not in this part.
  static Block* Find(const std::shared_ptr<const JobLayout>& layout, const Blocks& blocks,
                     uint32_t id) {
    const absl::StatusOr<int> position = layout->Find(id);
    return position.ok() ? blocks[*position].get() : nullptr;
  }

  void PullEarly(size_t index, int64_t batch, uint32_t id) {
    const Member& member = members_[index % kMembers];
    Block* const own = Find(member.own_layout, member.own, id);
    ParkedPulls::Pull pull;
    pull.batch = batch;
    pull.early = true;
    pull.done = [this, index, id](BlockReply reply) {
      if (!reply.status.ok()) return;
      Worker& worker = workers_[index];
      if (!worker.ahead.has_value()) return Answer(index, id, reply);
      worker.ahead->pulled[id] = reply.values.data()[0];
    };
    (own != nullptr ? own : Find(member.other_layout, member.others, id))->Pull(std::move(pull));
  }

  // What was held may be pushed, once all is pulled.
  void GoOnAhead(Worker* worker) {
    const Worker::Ahead ahead = *std::exchange(worker->ahead, std::nullopt);
    *worker = {.batch = ahead.batch,
               .pulled = ahead.pulled,
               .answers = ahead.pulled.size(),
               .left = ahead.left,
               .early = true};
    if (worker->answers == PushedBlocks().size()) NextPhase(worker);
  }

  void NextPhase(Worker* worker) {
    ++worker->phase;
    worker->answers = 0;
    worker->early = false;
    worker->left = PushedBlocks();
  }

  void Request(size_t index, uint32_t id) {
    Block* block = nullptr;
    for (const Member& member : members_) {
      if (block == nullptr) block = Find(member.own_layout, member.own, id);
    }
    Worker& worker = workers_[index];
    const int64_t batch = *worker.batch;
    const auto answer = [this, index, id](BlockReply reply) {
      if (!reply.status.ok()) return;  // The generation ends.
      Answer(index, id, reply);
    };
    if (worker.phase == 0) {
      ParkedPulls::Pull pull;
      pull.batch = batch;
      pull.done = answer;
      return block->Pull(std::move(pull));
    }
    if (worker.phase == 2) return block->ApplyUpdate(batch, 0.5F, answer);
    // A function of the batch and of values of all blocks, so that a wrong version shows.
    float sum = 0;
    for (const auto& [other, value] : worker.pulled) sum += value * static_cast<float>(other + 1);
    const float gradient = std::sin(sum + static_cast<float>(batch) + static_cast<float>(id));
    BlockPush push;
    push.batch = batch;
    push.examples = 1 + batch % 3;
    push.gradient = Filled(&pool_, block->spec().count, gradient);
    block->Push(std::move(push), answer);
  }

  void Answer(size_t index, uint32_t id, const BlockReply& reply) {
    Worker& worker = workers_[index];
    if (worker.phase == 0) worker.pulled[id] = reply.values.data()[0];
    if (++worker.answers < PushedBlocks().size()) return;
    if (worker.phase < (clipped_ ? 2 : 1)) return NextPhase(&worker);
    // The last answer says that the whole update is applied on all blocks.
    const Consistency& consistency = members_[0].own_layout->consistency();
    applied_ = std::max(applied_, consistency.BatchesOf(consistency.UpdateOf(*worker.batch)).end());
    if (worker.ahead.has_value()) return GoOnAhead(&worker);
    worker.batch.reset();
  }

  static std::vector<ReplicatedState> Replicas(const Blocks& blocks) {
    std::vector<ReplicatedState> states;
    for (const auto& block : blocks) states.push_back(block->Replicas());
    return states;
  }

  void Close() {
    for (Member& member : members_) {
      for (Blocks* blocks : {&member.own, &member.others}) {
        for (const auto& block : *blocks) block->Close(absl::AbortedError("the generation ends"));
        blocks->clear();
      }
    }
  }

  const TestJobOptions job_;
  const bool clipped_;
  const bool early_;
  std::mt19937_64 random_;
  BufferPool pool_;
  std::vector<Member> members_ = std::vector<Member>(kMembers);
  std::vector<Worker> workers_;
  std::vector<Message> messages_;
  // By owner and position: the first batch of the update, and how many replicas lack it.
  std::map<std::pair<uint32_t, int>, std::pair<int64_t, int>> sent_;
  std::map<std::pair<uint32_t, int>, uint32_t> ids_;
  std::vector<std::pair<uint32_t, int>> reduced_;  // Updates that owners may compute ahead.
  std::vector<std::pair<uint32_t, int>> done_;     // All replicas have it; the owner does not know.
  int64_t next_batch_ = 0;
  int64_t applied_ = 0;
};

Snapshot SnapshotOf(const std::map<uint32_t, BlockState>& states) {
  Snapshot snapshot;
  for (const auto& [id, state] : states) snapshot[id] = AllValues(state);
  return snapshot;
}

// The values of all versions, of a run without faults.
std::map<int64_t, Snapshot> Reference(bool clipped) {
  World world(clipped, /*early=*/false, 1);
  std::map<int64_t, Snapshot> versions;
  world.Begin(nullptr);
  do {
    const auto set = world.Survivor(0);
    for (int64_t version = set->versions().lowest; version <= set->versions().newest; ++version) {
      if (version % kPerUpdate != 0 && version != 12 && version != kBatches) continue;
      if (!versions.contains(version)) {
        versions[version] = SnapshotOf(world.StatesOf(*set, version));
      }
    }
  } while (world.Step());
  const auto set = world.Survivor(0);
  versions[kBatches] = SnapshotOf(world.StatesOf(*set, kBatches));
  return versions;
}

// Whether norms are clipped, and whether workers pull early values.
class ReplicaSetTest : public ::testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(ReplicaSetTest, EachSurvivorHasTheLastVersionThatWasVisible) {
  const auto [clipped, early] = GetParam();
  const std::map<int64_t, Snapshot> expected = Reference(clipped);
  int ahead = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    World world(clipped, early, seed + 1000);
    world.Begin(nullptr);
    int64_t end = -1;
    while (end != kBatches) {
      const uint64_t steps = random() % 600;
      bool more = true;
      for (uint64_t step = 0; step < steps && more; ++step) more = world.Step();
      // Of the survivors, one has the newest version. All of them have one to go on from.
      uint64_t survivors = random() % ((1 << kMembers) - 1) + 1;
      std::shared_ptr<const ReplicaSet> newest;
      for (uint32_t ps = 0; ps < kMembers; ++ps) {
        if ((survivors >> ps & 1) == 0) continue;
        const auto set = world.Survivor(ps);
        const VersionRange versions = set->versions();
        ASSERT_LE(versions.lowest, versions.newest);
        ASSERT_GE(versions.newest, world.applied());
        for (const int64_t version : {versions.lowest, versions.newest}) {
          ASSERT_TRUE(expected.contains(version)) << version;
          ASSERT_EQ(SnapshotOf(world.StatesOf(*set, version)), expected.at(version));
        }
        if (newest == nullptr || versions.newest > newest->versions().newest) newest = set;
      }
      end = newest->versions().newest;
      ahead += end > world.applied() ? 1 : 0;
      const std::map<uint32_t, BlockState> states = world.StatesOf(*newest, end);
      world.Begin(&states);
    }
  }
  // The losses came in all phases, also when replicas had what no worker knew yet.
  EXPECT_GT(ahead, 20);
}

INSTANTIATE_TEST_SUITE_P(Each, ReplicaSetTest,
                         ::testing::Combine(::testing::Bool(), ::testing::Bool()),
                         [](const auto& test) {
                           return absl::StrCat(
                               std::get<0>(test.param) ? "ClippedNorms" : "NoClipping",
                               std::get<1>(test.param) ? "Early" : "NoEarly");
                         });

}  // namespace
}  // namespace cairn::parameters

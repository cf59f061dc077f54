#include "tests/schedules/simulated_ps.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/random.h"
#include "nn/model.h"
#include "parameters/blocks/ledger_summary.h"

namespace cairn::schedules {
namespace {

using parameters::JobLayout;

constexpr absl::Duration kRepeat = absl::Milliseconds(300);

std::shared_ptr<const JobLayout> LayoutOf(const proto::JobPlan& plan, uint32_t ps,
                                          JobLayout::Part part = JobLayout::Part::kOwned) {
  using Key = std::tuple<std::string, uint32_t, JobLayout::Part>;
  static auto* const layouts = new std::map<Key, std::shared_ptr<const JobLayout>>();
  auto& layout = (*layouts)[{plan.SerializeAsString(), ps, part}];
  if (layout == nullptr) {
    const auto model = nn::Model::Create(plan.model());
    CAIRN_CHECK(model.ok());
    auto made = JobLayout::Create(plan, (*model)->variables(), ps, part);
    CAIRN_CHECK(made.ok());
    layout = *std::move(made);
  }
  return layout;
}

parameters::BufferPool* Pool() {
  static auto* const pool = new parameters::BufferPool();
  return pool;
}

parameters::BlockBuffer Zeros(int64_t count) {
  parameters::BlockBuffer buffer = Pool()->Allocate(count);
  std::fill_n(buffer.data(), count, 0.0f);
  return buffer;
}

proto::SnapshotPart Describe(uint32_t part, const Part& blocks) {
  proto::SnapshotPart description;
  description.set_ps(part);
  description.set_blocks(blocks.size());
  uint64_t sum = 1;
  for (const auto& [id, block] : blocks) {
    for (const float value : block.values) sum = MixBits(sum + static_cast<uint64_t>(-value) + id);
  }
  description.set_checksum(sum);
  return description;
}

// The block in the last of the sources that have it; null: in none.
const Stored* FindStored(const proto::Restore& restore, uint32_t block,
                         const std::vector<SnapshotDisk>& disks) {
  const Stored* stored = nullptr;
  for (const proto::SnapshotSource& source : restore.parts()) {
    for (const uint32_t holder : source.holders()) {
      const Part* const part = disks[holder].Find({restore.checkpoint(), source.part().ps()});
      if (part == nullptr) continue;
      const auto in_part = part->find(block);
      if (in_part != part->end()) stored = &in_part->second;
    }
  }
  return stored;
}

}  // namespace

void SimulatedPs::FillJoin(proto::Join* join) {
  if (world()->job.replicated) join->set_address(absl::StrCat("127.0.0.1:", 7000 + index()));
  if (generation_ == 0) return;
  join->set_job_id(1);
  join->set_generation(generation_);
}

void SimulatedPs::DropJob() {
  const absl::Status why = absl::AbortedError("the job is over here");
  for (auto& block : blocks_) block->Close(why);
  for (auto& block : replicas_) block->Close(why);
  blocks_.clear();
  replicas_.clear();
  kept_.reset();
  cuts_.clear();
  generation_ = checkpoint_ = 0;
}

std::vector<parameters::BlockState> SimulatedPs::Capture() const {
  std::vector<parameters::BlockState> states;
  for (const auto& block : blocks_) states.push_back(block->state());
  return states;
}

std::vector<parameters::BlockState> SimulatedPs::CaptureReplicas() const {
  std::vector<parameters::BlockState> states;
  for (size_t i = 0; i < replicas_.size(); ++i) {
    const parameters::ReplicatedState state = replicas_[i]->Replicas();
    const parameters::BlockSpec& block = replica_layout_->blocks()[i];
    const int64_t newest = parameters::VersionsOf(*replica_layout_, block, state).newest;
    states.push_back(*parameters::StateAt(block, state, newest));
  }
  return states;
}

std::shared_ptr<const parameters::ReplicaSet> SimulatedPs::Replicas() const {
  if (generation_ == 0) return kept_;
  if (replicas_.empty()) return nullptr;
  std::vector<parameters::ReplicatedState> own, others;
  for (const auto& block : blocks_) own.push_back(block->Replicas());
  for (const auto& block : replicas_) others.push_back(block->Replicas());
  return std::make_shared<const parameters::ReplicaSet>(generation_, layout_, std::move(own),
                                                        replica_layout_, std::move(others));
}

void SimulatedPs::Replicate(parameters::ReducedBlock update) {
  auto replication = std::make_shared<Replication>();
  replication->owner = index();
  replication->instance = instance();
  replication->generation = generation_;
  replication->block = layout_->blocks()[update.position].id;
  replication->update = std::move(update);
  for (uint32_t to = 0; to < all_.size(); ++to) {
    if (to != index()) replication->missing.insert(to);
  }
  for (const uint32_t to : replication->missing) {
    On(absl::ZeroDuration(), [this, replication, to] { SendUpdate(replication, to); });
  }
  On(world()->Delay(), [this, generation = generation_, position = replication->update.position] {
    if (generation == generation_) blocks_[position]->ComputeAhead();
  });
}

// Until it is acknowledged, or the generation ends.
void SimulatedPs::SendUpdate(const std::shared_ptr<Replication>& replication, uint32_t to) {
  if (replication->over || generation_ != replication->generation) return;
  if (!replication->missing.contains(to)) return;
  const Disturbances& disturbances = world()->disturbances;
  const int copies = world()->Chance(disturbances.loss)       ? 0
                     : world()->Chance(disturbances.doubling) ? 2
                                                              : 1;
  for (int i = 0; i < copies; ++i) {
    world()->After(world()->Delay() * (i + 1),
                   [this, replication, to] { all_[to].ReceiveUpdate(replication); });
  }
  On(kRepeat, [this, replication, to] { SendUpdate(replication, to); });
}

void SimulatedPs::ReceiveUpdate(const std::shared_ptr<Replication>& replication) {
  if (instance() == 0) return;
  if (stopped_for() > absl::ZeroDuration()) {
    return On(stopped_for(), [this, replication] { ReceiveUpdate(replication); });
  }
  absl::Status status;
  if (generation_ != replication->generation) {
    status = absl::FailedPreconditionError("not this generation");
  } else if (!planted_.replicas_off) {
    const auto position = replica_layout_->Find(replication->block);
    CAIRN_CHECK(position.ok());
    parameters::ReducedBlock update = replication->update;
    update.position = *position;
    status = replicas_[*position]->Receive(std::move(update));
  }
  if (world()->Chance(world()->disturbances.loss)) return;
  world()->After(world()->Delay(), [owner = &all_[replication->owner], replication, by = index(),
                                    status] { owner->UpdateReceived(replication, by, status); });
}

void SimulatedPs::UpdateReceived(const std::shared_ptr<Replication>& replication, uint32_t by,
                                 const absl::Status& status) {
  if (instance() != replication->instance || generation_ != replication->generation) return;
  if (replication->over) return;
  if (stopped_for() > absl::ZeroDuration()) {
    return On(stopped_for(),
              [this, replication, by, status] { UpdateReceived(replication, by, status); });
  }
  replication->missing.erase(by);
  if (status.ok() && !replication->missing.empty()) return;
  replication->over = true;
  blocks_[replication->update.position]->Replicated(replication->update.batch, status);
}

// Ends an older generation: what it offers must not change.
void SimulatedPs::OfferReplicas(const proto::OfferReplicas& command) {
  offered_to_ = std::max<uint64_t>(offered_to_, command.generation());
  if (generation_ != 0 && generation_ < command.generation() && !replicas_.empty()) {
    auto kept = Replicas();
    DropJob();
    kept_ = std::move(kept);
  }
  proto::TaskMessage message;
  proto::ReplicaOffer& offer = *message.mutable_replica_offer();
  offer.set_job_id(1);
  offer.set_generation(command.generation());
  if (const auto set = Replicas(); set != nullptr) {
    offer.set_complete(set->versions().lowest <= set->versions().newest);
    offer.set_from_generation(set->generation());
    offer.set_lowest(set->versions().lowest);
    offer.set_newest(set->versions().newest);
  }
  Send(std::move(message));
}

proto::LedgerReply SimulatedPs::Ledger() const {
  if (generation_ == 0) return {};
  return parameters::SummarizeLedgers(*layout_, generation_, Capture());
}

void SimulatedPs::Restore(const proto::Restore& restore) {
  proto::TaskMessage message;
  proto::RestoreReply& reply = *message.mutable_restored();
  reply.set_job_id(1);
  reply.set_generation(restore.generation());
  reply.set_checkpoint(restore.checkpoint());
  if (restore.generation() < offered_to_) return;
  const bool loaded = generation_ == restore.generation() && checkpoint_ == restore.checkpoint();
  if (generation_ > restore.generation()) {
    reply.set_error("no way back");
    return Send(std::move(message));
  }
  if (!loaded) {
    if (!restore.has_replicas()) DropJob();
    auto layout = LayoutOf(restore.plan(), index());
    auto others = LayoutOf(restore.plan(), index(), JobLayout::Part::kReplicas);
    auto states = LoadStates(restore, *layout);
    auto other_states = LoadStates(restore, *others);
    if (!states.has_value() || !other_states.has_value()) {
      reply.set_error("a block is missing");
      reply.set_transient(true);
      return Send(std::move(message));
    }
    DropJob();
    layout_ = std::move(layout);
    rule_ = std::make_unique<parameters::UpdateRule>(layout_.get(), Pool());
    blocks_ = MakeBlocks(*layout_, rule_.get(), false, *std::move(states));
    if (restore.replicated()) {
      replica_layout_ = std::move(others);
      replica_rule_ = std::make_unique<parameters::UpdateRule>(replica_layout_.get(), Pool());
      replicas_ = MakeBlocks(*replica_layout_, replica_rule_.get(), true, *std::move(other_states));
    }
    generation_ = restore.generation();
    checkpoint_ = restore.checkpoint();
  }
  *reply.mutable_ledger() = Ledger();
  Send(std::move(message));
}

std::optional<std::vector<parameters::BlockState>> SimulatedPs::LoadStates(
    const proto::Restore& restore, const JobLayout& layout) const {
  std::vector<parameters::BlockState> states;
  for (const parameters::BlockSpec& block : layout.blocks()) {
    parameters::BlockState& state = states.emplace_back();
    if (restore.has_replicas()) {
      bool found = false;
      for (const uint32_t holder : restore.replicas().holders()) {
        const auto set = all_[holder].Replicas();
        if (set == nullptr || found) continue;
        auto theirs = set->Find(block.id, restore.replicas().version());
        if ((found = theirs.ok())) state = std::move(theirs->state);
      }
      if (!found) return std::nullopt;
      continue;
    }
    state.values = Zeros(world()->job.width);
    if (restore.checkpoint() == 0) continue;
    const Stored* const stored = FindStored(restore, block.id, world()->disks);
    if (stored == nullptr) return std::nullopt;
    std::copy(stored->values.begin(), stored->values.end(), state.values.data());
    state.version = stored->version;
    state.ledger = stored->ledger;
  }
  return states;
}

std::vector<std::unique_ptr<parameters::Block>> SimulatedPs::MakeBlocks(
    const JobLayout& layout, const parameters::UpdateRule* rule, bool replicas,
    std::vector<parameters::BlockState> states) {
  parameters::Block::Options options;
  options.unsafe_disable_ledger = planted_.ledger_off;
  options.is_replica = replicas;
  if (world()->job.replicated && !replicas) {
    options.replicate = [this](parameters::ReducedBlock update) { Replicate(std::move(update)); };
  }
  std::vector<std::unique_ptr<parameters::Block>> blocks;
  for (size_t i = 0; i < states.size(); ++i) {
    blocks.push_back(std::make_unique<parameters::Block>(&layout, static_cast<int>(i), rule,
                                                         std::move(states[i]), options));
  }
  return blocks;
}

void SimulatedPs::WriteWhenPossible(std::function<void()> write) {
  const absl::Duration hangs = hangs_for();
  On(hangs + absl::Microseconds(world()->Below(world()->Chance(0.2) ? 500'000 : 20'000)),
     std::move(write));
}

absl::Duration SimulatedPs::SyncTime() {
  return hangs_for() + absl::Microseconds(world()->Below(20'000));
}

void SimulatedPs::SyncThenSend(proto::TaskMessage message) {
  if (planted_.snapshots_not_synced) return Send(std::move(message));
  On(SyncTime(), [this, message = std::move(message)]() mutable {
    disk()->Sync();
    Send(std::move(message));
  });
}

void SimulatedPs::LosePower() {
  const size_t unsynced = disk()->unsynced();
  const size_t kept = world()->Below(unsynced + 1);
  world()->outcome.lost_writes += static_cast<int64_t>(unsynced - kept);
  disk()->LosePower(kept);
  Kill();
}

void SimulatedPs::Persist(const proto::Persist& persist) {
  proto::TaskMessage message;
  proto::PersistReply& reply = *message.mutable_persisted();
  reply.set_job_id(1);
  reply.set_cut(persist.cut());
  reply.set_generation(persist.generation());
  const auto cut = cuts_.find(persist.cut());
  if (generation_ != persist.generation() || cut == cuts_.end()) {
    reply.set_error("there is no such cut");
    return Send(std::move(message));
  }
  Part part;
  for (size_t i = 0; i < cut->second.size(); ++i) {
    const parameters::BlockState& state = cut->second[i];
    part[layout_->blocks()[i].id] = {
        {state.values.data(), state.values.data() + state.values.count()},
        state.version,
        state.ledger};
  }
  WriteWhenPossible([this, message, part = std::move(part), cut = persist.cut()]() mutable {
    if (world()->Chance(world()->disturbances.disk_failures)) {
      message.mutable_persisted()->set_error("no space left on device");
    } else {
      *message.mutable_persisted()->mutable_part() = Describe(index(), part);
      disk()->Write({cut, index()}, std::move(part));
      ++disk_progress_;
    }
    SyncThenSend(std::move(message));
  });
}

void SimulatedPs::Copy(const proto::CopySnapshot& copy) {
  WriteWhenPossible([this, copy] {
    proto::TaskMessage message;
    proto::CopyReply& reply = *message.mutable_copied();
    reply.set_job_id(1);
    reply.set_checkpoint(copy.checkpoint());
    reply.set_part(copy.part().ps());
    const SnapshotDisk::Name name = {copy.checkpoint(), copy.part().ps()};
    const Part* const original = world()->disks[copy.part().ps()].Find(name);
    if (original == nullptr || world()->Chance(world()->disturbances.disk_failures)) {
      reply.set_error("it cannot be copied");
    } else {
      disk()->Write(name, *original);
      ++disk_progress_;
    }
    SyncThenSend(std::move(message));
  });
}

void SimulatedPs::MakeCut(const proto::Cut& cut) {
  proto::TaskMessage message;
  proto::CutReply& reply = *message.mutable_cut();
  reply.set_job_id(1);
  reply.set_cut(cut.cut());
  reply.set_generation(cut.generation());
  if (generation_ == cut.generation()) {
    if (!cuts_.contains(cut.cut())) {
      cuts_.clear();
      cuts_[cut.cut()] = Capture();
    }
    *reply.mutable_ledger() = parameters::SummarizeLedgers(*layout_, generation_, cuts_[cut.cut()]);
  } else {
    reply.set_error("not this generation");
  }
  Send(std::move(message));
}

void SimulatedPs::Handle(const proto::Command& command) {
  proto::TaskMessage message;
  switch (command.command_case()) {
    case proto::Command::kRestore:
      return On(absl::Microseconds(world()->Below(20'000)),
                [this, restore = command.restore()] { Restore(restore); });
    case proto::Command::kOfferReplicas:
      return OfferReplicas(command.offer_replicas());
    case proto::Command::kListSnapshots:
      message.mutable_snapshots()->set_job_id(command.list_snapshots().job_id());
      for (const auto& [name, part] : disk()->parts()) {
        proto::ReadableSnapshot* const snapshot = message.mutable_snapshots()->add_snapshots();
        snapshot->set_checkpoint(name.first);
        *snapshot->mutable_part() = Describe(name.second, part);
        snapshot->set_own_disk(true);
      }
      return Send(std::move(message));
    case proto::Command::kCopySnapshot:
      return Copy(command.copy_snapshot());
    case proto::Command::kMakeCut:
      return MakeCut(command.make_cut());
    case proto::Command::kPersist:
      return Persist(command.persist());
    case proto::Command::kLedgerQuery:
      *message.mutable_ledger() = Ledger();
      message.mutable_ledger()->set_query(command.ledger_query().query());
      return Send(std::move(message));
    case proto::Command::kDropCut:
      cuts_.erase(command.drop_cut().cut());
      return;
    case proto::Command::kDeleteCheckpoint:
      return WriteWhenPossible([this, checkpoint = command.delete_checkpoint().checkpoint()] {
        disk()->Delete(checkpoint);
        On(SyncTime(), [this] { disk()->Sync(); });
      });
    case proto::Command::kStopJob:
      return DropJob();
    default:
      return;
  }
}

void SimulatedPs::Serve(std::shared_ptr<const BlockRequest> request, bool buffered, Link* link,
                        std::function<void(parameters::BlockReply)> answer) {
  if (instance() == 0) return;
  if (stopped_for() > absl::ZeroDuration()) {
    return On(stopped_for(),
              [this, request, buffered, link, answer] { Serve(request, buffered, link, answer); });
  }
  const auto done = [this, link, answer = std::move(answer)](parameters::BlockReply reply) {
    if (world()->Chance(world()->disturbances.loss)) return;
    const bool has_values = static_cast<bool>(reply.values);
    world()->Transfer(outgoing(), link, has_values,
                      [answer, reply = std::make_shared<parameters::BlockReply>(std::move(reply))] {
                        answer(std::move(*reply));
                      });
  };
  if (generation_ != request->generation) {
    parameters::BlockReply reply;
    reply.status = absl::FailedPreconditionError("not this generation");
    return done(std::move(reply));
  }
  const bool is_own = layout_->Find(request->block).ok();
  CAIRN_CHECK(is_own || request->early);
  const auto position = (is_own ? layout_ : replica_layout_)->Find(request->block);
  CAIRN_CHECK(position.ok());
  parameters::Block& block = *(is_own ? blocks_ : replicas_)[*position];
  if (!request->is_push) {
    parameters::ParkedPulls::Pull pull;
    pull.batch = request->batch;
    pull.early = request->early;
    pull.done = done;
    pull.abandoned = [request] { return request->over; };
    return block.Pull(std::move(pull));
  }
  parameters::BlockPush push;
  push.batch = request->batch;
  push.answer_when_buffered = world()->answer_when_buffered && !buffered;
  push.already_buffered = buffered;
  if (!buffered) {
    const JobShape& job = world()->job;
    push.gradient = Zeros(job.width);
    // The mean of an update divides by its number of batches.
    const int64_t epoch_end = (request->batch / job.per_epoch + 1) * job.per_epoch;
    push.gradient.data()[request->batch % job.width] =
        static_cast<float>(std::min(job.group, epoch_end - job.UpdateBegin(request->batch)));
  }
  block.Push(std::move(push), [this, done](parameters::BlockReply reply) {
    // Nobody pushes before the last update is applied on all blocks.
    if (absl::IsFailedPrecondition(reply.status)) world()->Violate(reply.status.ToString());
    done(std::move(reply));
  });
}

}  // namespace cairn::schedules

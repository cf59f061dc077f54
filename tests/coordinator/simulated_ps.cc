#include "tests/coordinator/simulated_ps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "common/check.h"

namespace cairn::coordinator {
namespace {

// Does not use the product's code, since ledgers are what is tested.
proto::LedgerState StateOf(const std::set<int64_t>& applied) {
  proto::LedgerState state;
  int64_t low_water = 0;
  while (applied.contains(low_water)) ++low_water;
  state.set_low_water(low_water);
  if (applied.empty() || *applied.rbegin() < low_water) return state;
  std::string above((*applied.rbegin() - low_water) / 8 + 1, '\0');
  for (const int64_t batch : applied) {
    if (batch > low_water) above[(batch - low_water) / 8] |= 1 << (batch - low_water) % 8;
  }
  state.set_above(above);
  return state;
}

}  // namespace

int64_t UpdateOf(const proto::JobPlan& plan, int64_t batch) {
  const int64_t group = plan.batches_per_update();
  const int64_t per_epoch = plan.batches_per_epoch();
  const int64_t updates = (per_epoch + group - 1) / group;
  return batch / per_epoch * updates + batch % per_epoch / group;
}

std::pair<int64_t, int64_t> RangeOfUpdate(const proto::JobPlan& plan, int64_t batch) {
  const int64_t update = UpdateOf(plan, batch);
  int64_t first = batch;
  while (first > 0 && UpdateOf(plan, first - 1) == update) --first;
  int64_t end = batch + 1;
  while (end < plan.total_batches() && UpdateOf(plan, end) == update) ++end;
  return {first, end};
}

void SimulatedPs::Restart(uint64_t instance_id) {
  instance_id_ = instance_id;
  generation_ = 0;
  duplicates_ = 0;
  rates_.clear();
  plan_.Clear();
  blocks_.clear();
  replicated_ = false;
  previous_.clear();
  replicas_.clear();
  kept_.clear();
  kept_generation_ = 0;
  checkpointer_.clear();
  unread_.clear();
  expected_uploads_.clear();
}

proto::LedgerReply SimulatedPs::Ledger() const {
  proto::LedgerReply reply;
  reply.set_job_id(plan_.job_id());
  reply.set_generation(generation_);
  reply.set_blocks(static_cast<uint32_t>(blocks_.size()));
  if (blocks_.empty()) return reply;
  std::set<int64_t> applied_on_all = blocks_.begin()->second.applied, applied_on_any;
  for (const auto& [id, block] : blocks_) {
    std::erase_if(applied_on_all,
                  [&applied = block.applied](int64_t batch) { return !applied.contains(batch); });
    applied_on_any.insert(block.applied.begin(), block.applied.end());
  }
  *reply.mutable_applied_on_all() = StateOf(applied_on_all);
  *reply.mutable_applied_on_any() = StateOf(applied_on_any);
  return reply;
}

proto::Join SimulatedPs::MakeJoin() const {
  proto::Join join;
  join.set_role(proto::PS);
  join.set_index(index_);
  join.set_instance_id(instance_id_);
  join.set_address("127.0.0.1:" + std::to_string(7000 + index_));
  if (generation_ == 0) return join;
  join.set_job_id(plan_.job_id());
  join.set_generation(generation_);
  return join;
}

bool SimulatedPs::HasJob(uint64_t job, uint64_t generation) const {
  return generation_ != 0 && plan_.job_id() == job && generation_ == generation;
}

const SimulatedPs::Blocks* SimulatedPs::FindPart(const proto::Restore& restore,
                                                 uint32_t part) const {
  for (const proto::SnapshotSource& source : restore.parts()) {
    if (source.part().ps() != part) continue;
    for (const uint32_t holder : source.holders()) {
      const Disk& disk = cluster_[holder]->disk_;
      const auto found = disk.find({restore.checkpoint(), part});
      if (found != disk.end()) return &found->second;
    }
  }
  return nullptr;
}

void SimulatedPs::Restore(const proto::Restore& restore, proto::RestoreReply* reply) {
  reply->set_job_id(restore.plan().job_id());
  reply->set_generation(restore.generation());
  reply->set_checkpoint(restore.checkpoint());
  if (exhausted_bytes_ > 0) {
    reply->set_error("no memory for a block (" + std::to_string(exhausted_bytes_) + " bytes)");
    reply->set_transient(true);
    reply->set_exhausted_bytes(exhausted_bytes_);
    return;
  }
  const proto::PartitionMap& now = restore.plan().partition();
  const proto::PartitionMap& then = restore.has_source() ? restore.source() : now;
  Blocks blocks;
  if (restore.has_replicas() && !RestoreReplicas(restore, &blocks)) {
    reply->set_error("no member has the blocks in this version");
    reply->set_transient(true);
    return;
  }
  for (int id = 0; id < now.blocks_size() && !restore.has_replicas(); ++id) {
    if (now.blocks(id).ps() != index_ && !restore.replicated()) continue;
    blocks[id] = Block();
    if (restore.checkpoint() == 0) continue;
    const Blocks* part = FindPart(restore, then.blocks(id).ps());
    if (part == nullptr) {
      reply->set_error("there is no such snapshot");
      reply->set_transient(true);
      return;
    }
    blocks[id] = part->at(id);
  }
  plan_ = restore.plan();
  generation_ = restore.generation();
  rates_ = {restore.rates().begin(), restore.rates().end()};
  blocks_.clear();
  previous_.clear();
  replicas_.clear();
  kept_.clear();
  kept_generation_ = 0;
  replicated_ = restore.replicated();
  for (auto& [id, block] : blocks) {
    if (now.blocks(static_cast<int>(id)).ps() == index_) {
      blocks_[id] = std::move(block);
    } else {
      replicas_[id].current = std::move(block);
    }
  }
  checkpointer_.clear();
  *reply->mutable_ledger() = Ledger();
}

int64_t SimulatedPs::VersionOf(const Block& block) {
  const auto version = static_cast<int64_t>(block.applied.size());
  CAIRN_CHECK(version == 0 || *block.applied.rbegin() == version - 1);
  return version;
}

SimulatedPs::Replicas SimulatedPs::All() const {
  if (generation_ == 0) return kept_;
  Replicas all = replicas_;
  for (const auto& [id, block] : blocks_) {
    all[id].current = block;
    all[id].current.buffered.clear();
    if (previous_.contains(id)) all[id].previous = previous_.at(id);
  }
  return all;
}

std::optional<std::pair<int64_t, int64_t>> SimulatedPs::RangeOf(const Replicas& all) {
  if (all.empty()) return std::nullopt;
  std::pair<int64_t, int64_t> range = {0, std::numeric_limits<int64_t>::max()};
  for (const auto& [id, versions] : all) {
    const int64_t lowest = VersionOf(versions.previous ? *versions.previous : versions.current);
    const int64_t newest = VersionOf(versions.next ? *versions.next : versions.current);
    range = {std::max(range.first, lowest), std::min(range.second, newest)};
  }
  if (range.first > range.second) return std::nullopt;
  return range;
}

const SimulatedPs::Block* SimulatedPs::AtVersion(const Replicas& all, uint32_t id,
                                                 int64_t version) {
  const auto found = all.find(id);
  if (found == all.end()) return nullptr;
  const Versions& versions = found->second;
  if (VersionOf(versions.current) == version) return &versions.current;
  if (versions.previous && VersionOf(*versions.previous) == version) return &*versions.previous;
  if (versions.next && VersionOf(*versions.next) == version) return &*versions.next;
  return nullptr;
}

bool SimulatedPs::HasAllBlocks() const {
  const Replicas all = All();
  return all.size() > blocks_.size() && RangeOf(all).has_value();
}

bool SimulatedPs::RestoreReplicas(const proto::Restore& restore, Blocks* blocks) {
  const int64_t version = restore.replicas().version();
  Replicas own;
  if (generation_ == 0 && kept_job_ == restore.plan().job_id()) own = kept_;
  for (int id = 0; id < restore.plan().partition().blocks_size(); ++id) {
    std::optional<Block> found;
    if (const Block* block = AtVersion(own, id, version)) found = *block;
    for (const uint32_t holder : restore.replicas().holders()) {
      if (found.has_value() || holder == index_ || unreached_.contains(holder)) continue;
      const Replicas theirs = cluster_[holder]->All();
      if (const Block* block = AtVersion(theirs, id, version)) found = *block;
    }
    if (!found.has_value()) return false;
    (*blocks)[id] = *found;
  }
  return true;
}

void SimulatedPs::OfferReplicas(const proto::OfferReplicas& command, proto::ReplicaOffer* offer) {
  offer->set_job_id(command.job_id());
  offer->set_generation(command.generation());
  if (generation_ != 0 && generation_ < command.generation() && replicated_ &&
      plan_.job_id() == command.job_id()) {
    kept_ = All();
    kept_generation_ = generation_;
    kept_job_ = plan_.job_id();
    generation_ = 0;
    checkpointer_.clear();
  }
  if (generation_ != 0 && !replicated_) return;
  const auto range = RangeOf(All());
  if (!range.has_value()) return;
  offer->set_complete(true);
  offer->set_from_generation(generation_ != 0 ? generation_ : kept_generation_);
  offer->set_lowest(range->first);
  offer->set_newest(range->second);
}

// The replica has the same state, in its current or next version.
void SimulatedPs::Receive(uint32_t id, const Block& from, const Block& result) {
  Versions& replica = replicas_.at(id);
  if (replica.next.has_value() && VersionOf(*replica.next) == VersionOf(from)) {
    replica.current = *std::exchange(replica.next, std::nullopt);
  }
  EXPECT_EQ(replica.current, from);
  replica.next = result;
}

SimulatedPs::Block SimulatedPs::Updated(const Block& block, int64_t first, int64_t end) {
  Block updated = block;
  updated.buffered.clear();
  for (int64_t batch = first; batch < end; ++batch) MarkApplied(&updated, batch);
  return updated;
}

std::vector<SimulatedPs*> SimulatedPs::Peers() const {
  std::set<uint32_t> owners;
  for (const auto& block : plan_.partition().blocks()) owners.insert(block.ps());
  owners.erase(index_);
  std::vector<SimulatedPs*> peers;
  for (const uint32_t ps : owners) peers.push_back(cluster_[ps]);
  return peers;
}

void SimulatedPs::Step() {
  if (generation_ == 0 || !replicated_) return;
  for (auto& [id, block] : blocks_) {
    if (block.buffered.empty()) continue;
    const auto [first, end] = RangeOfUpdate(plan_, *block.buffered.begin());
    if (static_cast<int64_t>(block.buffered.size()) < end - first) continue;
    const auto has_it = [&](const SimulatedPs& peer) {
      if (!peer.HasJob(plan_.job_id(), generation_)) return false;
      const std::optional<Block>& next = peer.replicas_.at(id).next;
      return next.has_value() && VersionOf(*next) == end;
    };
    Block before = block;
    before.buffered.clear();
    const std::vector<SimulatedPs*> peers = Peers();
    for (SimulatedPs* peer : peers) {
      if (has_it(*peer) || !peer->HasJob(plan_.job_id(), generation_)) continue;
      if (unreached_.contains(peer->index_)) continue;
      peer->Receive(id, before, Updated(before, first, end));
      return;
    }
    if (!std::all_of(peers.begin(), peers.end(), [&](auto* peer) { return has_it(*peer); }))
      continue;
    block = Updated(before, first, end);
    previous_[id] = std::move(before);
    return;
  }
}

proto::SnapshotPart DescribePart(uint32_t ps, const SimulatedPs::Blocks& blocks) {
  proto::SnapshotPart part;
  part.set_ps(ps);
  part.set_blocks(blocks.size());
  uint64_t sum = 1;
  for (const auto& [id, block] : blocks) {
    for (const int64_t batch : block.applied) sum = sum * 1099511628211u + batch;
    sum = sum * 1099511628211u + id * 7919 + block.value;
  }
  part.set_checksum(sum);
  return part;
}

bool SimulatedPs::ReadsOwnDisk(const proto::Command& command) const {
  if (command.has_list_snapshots()) return true;
  for (const proto::SnapshotSource& source : command.restore().parts()) {
    const auto& holders = source.holders();
    if (source.part().ps() == index_ &&
        std::find(holders.begin(), holders.end(), index_) != holders.end()) {
      return true;
    }
  }
  return false;
}

bool SimulatedPs::Handle(const proto::Command& command, bool disk_fails,
                         proto::TaskMessage* answer) {
  if (command.has_restore()) {
    // A load that hangs is replaced by the next one.
    std::erase_if(unread_, [](const proto::Command& old) { return old.has_restore(); });
  }
  if (reads_hang_ && ReadsOwnDisk(command)) {
    unread_.push_back(command);
    return false;
  }
  if (command.has_heartbeat() && !reads_hang_ && !unread_.empty()) {
    const proto::Command next = unread_.front();
    unread_.erase(unread_.begin());
    return Handle(next, disk_fails, answer);
  }
  if (command.has_restore()) {
    Restore(command.restore(), answer->mutable_restored());
    return true;
  }
  if (command.has_offer_replicas()) {
    OfferReplicas(command.offer_replicas(), answer->mutable_replica_offer());
    return true;
  }
  if (command.has_list_snapshots()) {
    answer->mutable_snapshots()->set_job_id(command.list_snapshots().job_id());
    for (const auto& [name, blocks] : disk_) {
      proto::ReadableSnapshot* snapshot = answer->mutable_snapshots()->add_snapshots();
      snapshot->set_checkpoint(name.first);
      *snapshot->mutable_part() = DescribePart(name.second, blocks);
      snapshot->set_own_disk(true);
    }
    return true;
  }
  if (command.has_copy_snapshot()) {
    const proto::CopySnapshot& copy = command.copy_snapshot();
    proto::CopyReply* reply = answer->mutable_copied();
    reply->set_job_id(copy.job_id());
    reply->set_checkpoint(copy.checkpoint());
    reply->set_part(copy.part().ps());
    const Disk& theirs = cluster_[copy.part().ps()]->disk_;
    const auto original = theirs.find({copy.checkpoint(), copy.part().ps()});
    if (disk_fails || original == theirs.end()) {
      reply->set_error(disk_fails ? "no space left on device" : "there is no such snapshot");
    } else {
      disk_[original->first] = original->second;
    }
    return true;
  }
  if (command.has_make_cut()) {
    proto::CutReply* reply = answer->mutable_cut();
    reply->set_job_id(command.make_cut().job_id());
    reply->set_cut(command.make_cut().cut());
    reply->set_generation(command.make_cut().generation());
    if (HasJob(command.make_cut().job_id(), command.make_cut().generation())) {
      checkpointer_[command.make_cut().cut()] = blocks_;
      *reply->mutable_ledger() = Ledger();
    } else {
      reply->set_error("not this generation");
    }
    return true;
  }
  if (command.has_persist()) {
    const uint64_t cut = command.persist().cut();
    if (disk_hangs_) {
      unwritten_.push_back(command.persist());
      return false;
    }
    proto::PersistReply* reply = answer->mutable_persisted();
    reply->set_job_id(command.persist().job_id());
    reply->set_cut(cut);
    reply->set_generation(command.persist().generation());
    if (disk_fails || !checkpointer_.contains(cut)) {
      reply->set_error(disk_fails ? "no space left on device" : "there is no such cut");
    } else {
      disk_[{cut, index_}] = checkpointer_[cut];
      *reply->mutable_part() = DescribePart(index_, checkpointer_[cut]);
    }
    return true;
  }
  if (command.has_ledger_query()) {
    *answer->mutable_ledger() = Ledger();
    answer->mutable_ledger()->set_query(command.ledger_query().query());
    return true;
  }
  if (command.has_set_rates()) {
    const proto::SetRates& set = command.set_rates();
    if (!HasJob(set.job_id(), set.generation())) return false;
    rates_ = {set.rates().begin(), set.rates().end()};
    proto::RatesReply* reply = answer->mutable_rates_set();
    reply->set_job_id(set.job_id());
    reply->set_generation(set.generation());
    reply->set_changes(set.rates_size());
    return true;
  }
  if (command.has_expect_upload()) {
    expected_uploads_[command.expect_upload().job_id()] = command.expect_upload().bytes();
  }
  if (command.has_drop_cut()) checkpointer_.erase(command.drop_cut().cut());
  if (command.has_delete_checkpoint()) {
    std::erase_if(disk_, [&](const auto& entry) {
      return entry.first.first == command.delete_checkpoint().checkpoint();
    });
  }
  if (command.has_stop_job() && plan_.job_id() == command.stop_job().job_id()) {
    generation_ = 0;
    kept_.clear();
  }
  if (command.has_stop_job() && command.stop_job().delete_data()) disk_.clear();
  return false;
}

double SimulatedPs::RateOf(int64_t batch) const {
  double rate = 0;
  for (const proto::RateChange& change : rates_) {
    if (change.from_batch() <= batch) rate = change.learning_rate();
  }
  return rate;
}

void SimulatedPs::MarkApplied(Block* block, int64_t batch) {
  block->applied.insert(batch);
  block->rates[batch] = RateOf(batch);
  if (!block->rejected.contains(batch)) ++block->value;
}

bool SimulatedPs::IsApplied(uint32_t block, int64_t batch) const {
  const auto found = blocks_.find(block);
  return found != blocks_.end() && found->second.applied.contains(batch);
}

bool SimulatedPs::Push(uint64_t job, uint64_t generation, uint32_t id, int64_t batch,
                       bool rejected) {
  if (!HasJob(job, generation)) return false;
  Block& block = blocks_.at(id);
  if (block.applied.contains(batch)) {
    ++duplicates_;
    return true;
  }
  if (rejected) block.rejected.insert(batch);
  if (!plan_.synchronous()) {
    MarkApplied(&block, batch);
    return true;
  }
  if (block.buffered.empty()) previous_.erase(id);
  block.buffered.insert(batch);
  // Nothing is buffered for other updates: none of their batches can have been computed.
  const auto [first, end] = RangeOfUpdate(plan_, batch);
  EXPECT_GE(*block.buffered.begin(), first);
  EXPECT_LT(*block.buffered.rbegin(), end);
  if (static_cast<int64_t>(block.buffered.size()) < end - first || replicated_) return true;
  for (int64_t other = first; other < end; ++other) MarkApplied(&block, other);
  block.buffered.clear();
  return true;
}

}  // namespace cairn::coordinator

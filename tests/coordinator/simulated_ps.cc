#include "tests/coordinator/simulated_ps.h"

#include <algorithm>

namespace cairn::coordinator {
namespace {

// Written for itself, not with the product's code: the ledgers are what is tested.
proto::LedgerState StateOf(const std::set<int64_t>& settled) {
  proto::LedgerState state;
  int64_t low_water = 0;
  while (settled.contains(low_water)) ++low_water;
  state.set_low_water(low_water);
  if (settled.empty() || *settled.rbegin() < low_water) return state;
  std::string above((*settled.rbegin() - low_water) / 8 + 1, '\0');
  for (const int64_t batch : settled) {
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

std::vector<int64_t> BatchesOfUpdate(const proto::JobPlan& plan, int64_t batch) {
  std::vector<int64_t> batches;
  const int64_t update = UpdateOf(plan, batch);
  for (int64_t other = std::max<int64_t>(0, batch - plan.batches_per_update());
       other < std::min(plan.total_batches(), batch + plan.batches_per_update() + 1); ++other) {
    if (UpdateOf(plan, other) == update) batches.push_back(other);
  }
  return batches;
}

void SimulatedPs::Restart(uint64_t instance_id) {
  instance_id_ = instance_id;
  generation_ = 0;
  duplicates_ = 0;
  rates_.clear();
  plan_.Clear();
  blocks_.clear();
  cuts_.clear();
}

proto::LedgerReply SimulatedPs::Ledger() const {
  proto::LedgerReply reply;
  reply.set_job_id(plan_.job_id());
  reply.set_generation(generation_);
  reply.set_blocks(static_cast<uint32_t>(blocks_.size()));
  if (blocks_.empty()) return reply;
  std::set<int64_t> everywhere = blocks_[0].settled, somewhere;
  for (const Block& block : blocks_) {
    std::erase_if(everywhere, [&](int64_t batch) { return !block.settled.contains(batch); });
    somewhere.insert(block.settled.begin(), block.settled.end());
  }
  *reply.mutable_everywhere() = StateOf(everywhere);
  *reply.mutable_somewhere() = StateOf(somewhere);
  return reply;
}

proto::Join SimulatedPs::MakeJoin() const {
  proto::Join join;
  join.set_role(proto::PS);
  join.set_index(index_);
  join.set_instance_id(instance_id_);
  if (generation_ == 0) return join;
  join.set_job_id(plan_.job_id());
  join.set_generation(generation_);
  *join.mutable_ledger() = Ledger();
  return join;
}

bool SimulatedPs::HasJob(uint64_t job, uint64_t generation) const {
  return generation_ != 0 && plan_.job_id() == job && generation_ == generation;
}

bool SimulatedPs::Handle(const proto::Command& command, bool disk_fails,
                         proto::TaskMessage* answer) {
  if (command.has_restore()) {
    const proto::Restore& restore = command.restore();
    proto::RestoreReply* reply = answer->mutable_restored();
    reply->set_job_id(restore.plan().job_id());
    reply->set_generation(restore.generation());
    reply->set_checkpoint(restore.checkpoint());
    if (restore.checkpoint() != 0 && !disk_.contains(restore.checkpoint())) {
      reply->set_error("there is no such snapshot");
      return true;
    }
    plan_ = restore.plan();
    generation_ = restore.generation();
    rates_ = {restore.rates().begin(), restore.rates().end()};
    blocks_ = restore.checkpoint() == 0 ? Blocks(block_count_) : disk_[restore.checkpoint()];
    cuts_.clear();
    *reply->mutable_ledger() = Ledger();
    return true;
  }
  if (command.has_make_cut()) {
    proto::CutReply* reply = answer->mutable_cut();
    reply->set_cut(command.make_cut().cut());
    reply->set_generation(command.make_cut().generation());
    if (HasJob(command.make_cut().job_id(), command.make_cut().generation())) {
      cuts_[command.make_cut().cut()] = blocks_;
      *reply->mutable_ledger() = Ledger();
    } else {
      reply->set_error("not this generation");
    }
    return true;
  }
  if (command.has_persist()) {
    const uint64_t cut = command.persist().cut();
    proto::PersistReply* reply = answer->mutable_persisted();
    reply->set_cut(cut);
    reply->set_generation(command.persist().generation());
    if (disk_fails || !cuts_.contains(cut)) {
      reply->set_error(disk_fails ? "no space left on device" : "there is no such cut");
    } else {
      disk_[cut] = cuts_[cut];
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
  if (command.has_drop_cut()) cuts_.erase(command.drop_cut().cut());
  if (command.has_delete_checkpoint()) disk_.erase(command.delete_checkpoint().checkpoint());
  if (command.has_stop_job() && plan_.job_id() == command.stop_job().job_id()) generation_ = 0;
  return false;
}

double SimulatedPs::RateOf(int64_t batch) const {
  double rate = 0;
  for (const proto::RateChange& change : rates_) {
    if (change.from_batch() <= batch) rate = change.learning_rate();
  }
  return rate;
}

void SimulatedPs::Settle(Block* block, int64_t batch) {
  block->settled.insert(batch);
  block->rates[batch] = RateOf(batch);
  ++block->value;
}

bool SimulatedPs::Push(uint64_t job, uint64_t generation, int index, int64_t batch) {
  if (!HasJob(job, generation)) return false;
  Block& block = blocks_[index];
  if (block.settled.contains(batch)) {
    ++duplicates_;
    return true;
  }
  if (!plan_.synchronous()) {
    Settle(&block, batch);
    return true;
  }
  block.buffered.insert(batch);
  const std::vector<int64_t> update = BatchesOfUpdate(plan_, batch);
  const bool complete = std::all_of(update.begin(), update.end(),
                                    [&](int64_t other) { return block.buffered.contains(other); });
  if (!complete) return true;
  for (const int64_t other : update) {
    Settle(&block, other);
    block.buffered.erase(other);
  }
  return true;
}

}  // namespace cairn::coordinator

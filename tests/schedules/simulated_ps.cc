#include "tests/schedules/simulated_ps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/check.h"
#include "common/random.h"
#include "nn/model.h"
#include "parameters/blocks/ledger_summary.h"

namespace cairn::schedules {
namespace {

std::shared_ptr<const parameters::JobLayout> LayoutOf(const proto::JobPlan& plan, uint32_t ps) {
  static auto* const layouts = new std::map<std::pair<std::string, uint32_t>,
                                            std::shared_ptr<const parameters::JobLayout>>();
  auto& layout = (*layouts)[{plan.SerializeAsString(), ps}];
  if (layout == nullptr) {
    const auto model = nn::Model::Create(plan.model());
    CAIRN_CHECK(model.ok());
    auto made = parameters::JobLayout::Create(plan, (*model)->variables(), ps);
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
                         const std::vector<Disk>& disks) {
  const Stored* stored = nullptr;
  for (const proto::SnapshotSource& source : restore.parts()) {
    for (const uint32_t holder : source.holders()) {
      const auto found = disks[holder].find({restore.checkpoint(), source.part().ps()});
      if (found == disks[holder].end()) continue;
      const auto in_part = found->second.find(block);
      if (in_part != found->second.end()) stored = &in_part->second;
    }
  }
  return stored;
}

}  // namespace

void SimulatedPs::FillJoin(proto::Join* join) {
  if (generation_ == 0) return;
  join->set_job_id(1);
  join->set_generation(generation_);
}

void SimulatedPs::DropJob() {
  const absl::Status why = absl::AbortedError("the job is over here");
  for (auto& block : blocks_) block->Close(why);
  blocks_.clear();
  cuts_.clear();
  generation_ = checkpoint_ = 0;
}

std::vector<parameters::BlockState> SimulatedPs::Capture() const {
  std::vector<parameters::BlockState> states;
  for (const auto& block : blocks_) states.push_back(block->state());
  return states;
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
  const bool loaded = generation_ == restore.generation() && checkpoint_ == restore.checkpoint();
  if (generation_ > restore.generation()) {
    reply.set_error("no way back");
    return Send(std::move(message));
  }
  if (!loaded) {
    DropJob();
    layout_ = LayoutOf(restore.plan(), index());
    std::vector<parameters::BlockState> states;
    for (const parameters::BlockSpec& block : layout_->blocks()) {
      parameters::BlockState& state = states.emplace_back();
      state.values = Zeros(world()->job.width);
      if (restore.checkpoint() == 0) continue;
      const Stored* const stored = FindStored(restore, block.id, world()->disks);
      if (stored == nullptr) {
        reply.set_error("no such snapshot");
        reply.set_transient(true);
        return Send(std::move(message));
      }
      std::copy(stored->values.begin(), stored->values.end(), state.values.data());
      state.version = stored->version;
      state.ledger = stored->ledger;
    }
    rule_ = std::make_unique<parameters::UpdateRule>(layout_.get(), Pool());
    for (size_t i = 0; i < states.size(); ++i) {
      blocks_.push_back(std::make_unique<parameters::Block>(
          layout_.get(), static_cast<int>(i), rule_.get(), std::move(states[i]),
          parameters::Block::Options{.unsafe_disable_ledger = ledger_off_}));
    }
    generation_ = restore.generation();
    checkpoint_ = restore.checkpoint();
  }
  *reply.mutable_ledger() = Ledger();
  Send(std::move(message));
}

void SimulatedPs::WriteWhenPossible(std::function<void()> write) {
  const absl::Duration hangs = hangs_for();
  On(hangs + absl::Microseconds(world()->Below(world()->Chance(0.2) ? 500'000 : 20'000)),
     std::move(write));
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
      (*disk())[{cut, index()}] = std::move(part);
      ++disk_progress_;
    }
    Send(std::move(message));
  });
}

void SimulatedPs::Copy(const proto::CopySnapshot& copy) {
  WriteWhenPossible([this, copy] {
    proto::TaskMessage message;
    proto::CopyReply& reply = *message.mutable_copied();
    reply.set_job_id(1);
    reply.set_checkpoint(copy.checkpoint());
    reply.set_part(copy.part().ps());
    const Disk& theirs = world()->disks[copy.part().ps()];
    const auto original = theirs.find({copy.checkpoint(), copy.part().ps()});
    if (original == theirs.end() || world()->Chance(world()->disturbances.disk_failures)) {
      reply.set_error("it cannot be copied");
    } else {
      (*disk())[original->first] = original->second;
      ++disk_progress_;
    }
    Send(std::move(message));
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
    case proto::Command::kListSnapshots:
      message.mutable_snapshots()->set_job_id(command.list_snapshots().job_id());
      for (const auto& [name, part] : *disk()) {
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
        std::erase_if(*disk(), [&](const auto& entry) { return entry.first.first == checkpoint; });
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
  const auto position = layout_->Find(request->block);
  CAIRN_CHECK(position.ok());
  parameters::Block& block = *blocks_[*position];
  if (!request->is_push) {
    parameters::ParkedPulls::Pull pull;
    pull.batch = request->batch;
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
  block.Push(std::move(push), done);
}

}  // namespace cairn::schedules

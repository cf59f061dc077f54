#include "tests/schedules/simulated_coordinator.h"

#include <google/protobuf/util/json_util.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "coordinator/shared_plan.h"
#include "tests/schedules/invariants.h"

namespace cairn::schedules {
namespace {

using coordinator::EventTime;
using coordinator::Outbox;
using coordinator::Scheduler;

constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kLease = absl::Seconds(3);
constexpr absl::Duration kProgressTimeout = absl::Seconds(4);

proto::ModelSpec MakeModel(const JobShape& job) {
  proto::ModelSpec model;
  CAIRN_CHECK(
      google::protobuf::util::JsonStringToMessage(
          absl::StrCat(
              R"({"inputs": ["in"], "outputs": ["out"], "layers": [
                 {"name": "in", "class_name": "InputLayer", "config": {"batch_shape": [null, )",
              job.blocks, R"(]}}, {"name": "out", "class_name": "Dense", "inputs": ["in"], "config":
                 {"use_bias": false, "units": )",
              job.width, "}}]}"),
          &model)
          .ok());
  return model;
}

proto::PartitionMap MakePartition(const JobShape& job, uint32_t ps_count) {
  proto::PartitionMap map;
  map.set_ps_count(ps_count);
  proto::PartitionMap::Variable* const variable = map.add_variables();
  variable->set_name("out/kernel");
  variable->set_pushed(true);
  variable->add_shape(job.blocks);
  variable->add_shape(job.width);
  for (uint32_t id = 0; id < job.blocks; ++id) {
    proto::PartitionMap::Block* const block = map.add_blocks();
    block->set_row_begin(id);
    block->set_row_end(id + 1);
    block->set_ps(id % ps_count);
  }
  return map;
}

}  // namespace

void SimulatedCoordinator::Start(std::vector<SimulatedProcess*> processes) {
  processes_ = std::move(processes);
  StartScheduler();
}

void SimulatedCoordinator::Submit(const proto::Job& job) {
  *submitted_.request.mutable_job() = job;
  *submitted_.request.mutable_model() = MakeModel(world_->job);
  submitted_.partition = MakePartition(world_->job, static_cast<uint32_t>(world_->disks.size()));
  TrySubmit();
}

// A cluster without ps takes jobs when all members have joined. The coordinator may die meanwhile.
void SimulatedCoordinator::TrySubmit() {
  const auto accepted = [this] { return scheduler_ != nullptr && scheduler_->GetState(1).ok(); };
  if (scheduler_ != nullptr && !accepted()) {
    Turn([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      const auto reply = scheduler->Submit(submitted_, now, outbox);
      CAIRN_CHECK(reply.ok() || world_->job.replicated);
    });
  }
  world_->After(kTick, [this, done = accepted()] { done ? Tick() : TrySubmit(); });
}

void SimulatedCoordinator::StartScheduler() {
  const size_t ps_count = world_->disks.size();
  Scheduler::Options options;
  for (size_t i = 0; i < ps_count; ++i) {
    options.membership.ps_addresses.push_back(absl::StrCat("127.0.0.1:", 7000 + i));
  }
  for (size_t i = 0; i < processes_.size() - ps_count; ++i) {
    options.membership.named_workers.insert(i);
  }
  if (world_->job.replicated) {
    // Worker N has ps N. The other workers are not in TF_CONFIG.
    options.membership.workers_hold_parameters = true;
    std::erase_if(options.membership.named_workers,
                  [ps_count](uint32_t worker) { return worker >= ps_count; });
  }
  options.membership.lease = kLease;
  options.membership.progress_timeout = kProgressTimeout;
  options.new_cluster_id = 1;
  options.journal = &journal_;
  Outbox outbox;
  auto scheduler = Scheduler::Create(std::move(options), world_->event_time(), &outbox);
  CAIRN_CHECK(scheduler.ok());
  scheduler_ = *std::move(scheduler);
  CarryOut(&outbox);
}

void SimulatedCoordinator::Kill() {
  if (scheduler_ == nullptr) return;
  crash_ = false;
  // Not at once: the scheduler may be in this call's stack.
  std::shared_ptr<Scheduler> old(std::move(scheduler_));
  world_->After(absl::ZeroDuration(), [old] {});
  streams_.clear();
  for (SimulatedProcess* process : processes_) {
    if (process->is_connected()) process->BreakStream();
  }
  world_->After(absl::Milliseconds(world_->Below(1000)), [this] {
    if (scheduler_ == nullptr) StartScheduler();
  });
}

void SimulatedCoordinator::LosePower() {
  JournalDisk::Changes changes;
  CAIRN_CHECK(journal_
                  .ReadPrefix("",
                              [&](std::string_view key, std::string_view) {
                                changes.push_back({std::string(key), std::nullopt, ""});
                                return true;
                              })
                  .ok());
  const size_t unsynced = disk_.unsynced();
  const size_t kept = world_->Below(unsynced + 1);
  world_->outcome.lost_writes += static_cast<int64_t>(unsynced - kept);
  for (storage::Journal::Change& left : disk_.LosePower(kept)) {
    changes.push_back(std::move(left));
  }
  CAIRN_CHECK(changes.empty() || journal_.Write(changes, false).ok());
  Kill();
}

uint64_t SimulatedCoordinator::Accept(SimulatedProcess* process) {
  streams_[++last_session_] = process;
  return last_session_;
}

void SimulatedCoordinator::OnMessage(uint64_t session, const proto::TaskMessage& message) {
  if (!streams_.contains(session)) return;
  Turn([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnMessage(session, message, now, outbox);
  });
}

void SimulatedCoordinator::OnStreamEnd(uint64_t session) {
  if (streams_.erase(session) == 0) return;
  Turn([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnSessionEnd(session, now, outbox);
  });
}

void SimulatedCoordinator::SendTo(uint64_t session, const proto::Command& command, bool close) {
  const auto found = streams_.find(session);
  if (found == streams_.end()) return;
  found->second->Receive(session, command, close);
  if (close) streams_.erase(session);
}

void SimulatedCoordinator::Turn(const Event& event) {
  if (scheduler_ == nullptr) return;
  Outbox outbox;
  event(scheduler_.get(), world_->event_time(), &outbox);
  CarryOut(&outbox);
}

void SimulatedCoordinator::Write(const Outbox& outbox) {
  if (outbox.changes.empty()) return;
  CAIRN_CHECK(journal_.Write(outbox.changes, false).ok());
  disk_.Write(outbox.changes, outbox.sync && !planted_.journal_not_synced);
  if (loses_power_ && disk_.unsynced() > 0) {
    loses_power_ = false;
    world_->After(absl::Microseconds(world_->Below(5000)), [this] { LosePower(); });
  }
}

void SimulatedCoordinator::CarryOut(Outbox* outbox) {
  if (crash_ && outbox->sync) {
    // Before the decision is written, or after it and before anybody is told.
    if (world_->Below(2) == 0) Write(*outbox);
    return Kill();
  }
  Write(*outbox);
  for (const storage::Journal::Change& change : outbox->changes) {
    if (!change.value.has_value() || !absl::StrContains(change.key, "/manifest/")) continue;
    proto::Manifest manifest;
    CAIRN_CHECK(manifest.ParseFromString(*change.value));
    world_->Violate(CheckManifest(world_->job, manifest, world_->disks));
  }
  for (const Outbox::Answer& answer : outbox->answers) {
    SendTo(answer.session, answer.command, answer.close);
  }
  for (const Outbox::Sending& sending : outbox->commands) {
    proto::Command command = sending.command;
    // As a stream sends it.
    if (sending.plan != nullptr) {
      CAIRN_CHECK(command.MergeFromString(coordinator::PlanPrefix(command, *sending.plan) +
                                          sending.plan->bytes));
    }
    SendTo(scheduler_->SessionOf(sending.task), command, false);
  }
  for (auto& reply : outbox->replies) reply();
}

void SimulatedCoordinator::Tick() {
  world_->After(kTick, [this] { Tick(); });
  if (scheduler_ == nullptr) return;
  Turn([](Scheduler* scheduler, EventTime now, Outbox* outbox) { scheduler->OnTick(now, outbox); });
  if (scheduler_ == nullptr) return;
  const auto state = scheduler_->GetState(1);
  if (!state.ok()) return world_->Violate("the job is gone");
  job_finished_ = *state == proto::FINISHED;
  if (*state == proto::FAILED) {
    const auto status = scheduler_->GetJob("1", world_->event_time());
    world_->Violate(absl::StrCat("the job failed: ", status.ok() ? status->error() : ""));
  }
  if (job_finished_) {
    const auto status = scheduler_->GetJob("1", world_->event_time());
    world_->outcome.rollbacks = static_cast<int>(status->rollbacks());
    if (world_->job.replicated) {
      world_->outcome.continued =
          static_cast<int64_t>(status->generation()) - 1 - status->rollbacks();
    }
  }
}

}  // namespace cairn::schedules

#include "tests/coordinator/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "coordinator/training/applied_batches.h"
#include "storage/job_records.h"
#include "tests/coordinator/training/metric_plan.h"

namespace cairn::coordinator {
namespace {

constexpr int kBlocks = 7;
constexpr absl::Duration kStep = absl::Milliseconds(10);

MembershipOptions MakeMembership(int ps, int workers) {
  MembershipOptions options;
  for (int i = 0; i < ps; ++i) options.ps_addresses.push_back(absl::StrCat("127.0.0.1:", 7000 + i));
  for (int i = 0; i < workers; ++i) options.named_workers.insert(i);
  return options;
}

// One variable whose blocks are placed round-robin.
proto::PartitionMap MakePartition(int ps) {
  proto::PartitionMap map;
  map.set_ps_count(ps);
  map.add_variables()->set_name("v");
  map.mutable_variables(0)->add_shape(kBlocks);
  for (int id = 0; id < kBlocks; ++id) {
    proto::PartitionMap::Block* block = map.add_blocks();
    block->set_row_begin(id);
    block->set_row_end(id + 1);
    block->set_ps(id % ps);
  }
  return map;
}

// The rejected batches that are applied, not only buffered.
int64_t Rejected(const SimulatedPs::Block& block) {
  return std::count_if(block.rejected.begin(), block.rejected.end(),
                       [&block](int64_t batch) { return block.applied.contains(batch); });
}

}  // namespace

Simulation::Simulation(const Options& options) : options_(options) {
  auto journal = storage::Journal::Open(options.journal_directory);
  CAIRN_CHECK(journal.ok());
  journal_ = *std::move(journal);
  StartPs(options.ps);
  for (int i = 0; i < options.workers; ++i) {
    Endpoint& endpoint = *endpoints_.emplace_back(std::make_unique<Endpoint>());
    endpoint.worker = std::make_unique<SimulatedWorker>(i, &ps_, options.examples);
    RestartProcess(&endpoint);
  }
  StartCoordinator();
  Submit(options.job);
}

void Simulation::StartPs(int count) {
  std::erase_if(endpoints_, [](const auto& endpoint) { return endpoint->ps != nullptr; });
  ps_.clear();
  for (int i = 0; i < count; ++i) {
    if (i == static_cast<int>(all_ps_.size())) {
      all_ps_.push_back(std::make_unique<SimulatedPs>(i, &ps_));
    }
    auto endpoint = std::make_unique<Endpoint>();
    endpoint->ps = all_ps_[i].get();
    ps_.push_back(endpoint->ps);
    RestartProcess(endpoint.get());
    endpoints_.insert(endpoints_.begin() + i, std::move(endpoint));
  }
}

void Simulation::Resize(int ps) {
  for (auto& endpoint : endpoints_) RestartProcess(endpoint.get());
  StartPs(ps);
  KillCoordinator();
}

void Simulation::Submit(const proto::Job& job, bool uploads_weights) {
  ValidatedJob validated;
  *validated.request.mutable_job() = job;
  // A model with the metric of SimulatedJob.
  const proto::JobPlan plan = MetricPlan({});
  *validated.request.mutable_model() = plan.model();
  *validated.request.mutable_job()->mutable_loss() = plan.job().loss();
  validated.request.set_uploads_weights(uploads_weights);
  validated.partition = MakePartition(static_cast<int>(ps_.size()));
  const auto submit = [&] {
    bool accepted = false;
    Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      accepted = scheduler->Submit(validated, now, outbox).ok();
    });
    // The coordinator may have died before it wrote the job.
    return accepted && !scheduler_->ListJobs(Now()).jobs().empty();
  };
  // A cluster without ps awaits its members, and every cluster those that take weights.
  const bool waits = job.strategy().has_multi_worker_mirrored() || uploads_weights;
  EXPECT_TRUE(waits ? RunUntil(submit) : submit());
}

void Simulation::Do(const std::function<void(Scheduler*, EventTime, Outbox*)>& request) {
  Outbox outbox;
  request(scheduler_.get(), Now(), &outbox);
  CarryOut(&outbox);
}

bool Simulation::Chance(double per_minute) {
  if (now_ > absl::Seconds(100) + options_.fault_time) return false;
  const double probability = per_minute * absl::FDivDuration(kStep, absl::Minutes(1));
  return static_cast<double>(Below(1000000)) < probability * 1e6;
}

void Simulation::StartCoordinator() {
  Scheduler::Options options;
  options.membership = MakeMembership(static_cast<int>(ps_.size()), options_.workers);
  if (options_.job.strategy().has_multi_worker_mirrored()) {
    // Worker N has ps N. The other workers are not in TF_CONFIG.
    options.membership.workers_hold_parameters = true;
    std::erase_if(options.membership.named_workers,
                  [this](uint32_t worker) { return worker >= ps_.size(); });
  }
  options.membership.progress_timeout = options_.progress_timeout;
  options.new_cluster_id = 1;
  options.journal = journal_.get();
  Outbox outbox;
  auto scheduler = Scheduler::Create(std::move(options), Now(), &outbox);
  ASSERT_TRUE(scheduler.ok()) << scheduler.status();
  scheduler_ = *std::move(scheduler);
  CarryOut(&outbox);
}

void Simulation::KillCoordinator() {
  crash_ = false;
  for (auto& endpoint : endpoints_) Disconnect(endpoint.get());
  StartCoordinator();
}

void Simulation::KillPs(int index) { Kill(endpoints_[index].get()); }

void Simulation::KillWorkerForGood(int index) {
  Endpoint* const endpoint = endpoints_[ps_.size() + index].get();
  Kill(endpoint);
  endpoint->connect_at = absl::InfiniteDuration();
}

SimulatedPs::Disk Simulation::LoseDisk(int ps) {
  disks_lost_ = true;
  SimulatedPs::Disk lost = std::exchange(ps_[ps]->disk(), {});
  KillPs(ps);
  return lost;
}

void Simulation::KillEverything() {
  for (auto& endpoint : endpoints_) RestartProcess(endpoint.get());
  KillCoordinator();
}

void Simulation::Kill(Endpoint* endpoint) {
  const uint64_t session = endpoint->session;
  RestartProcess(endpoint);
  TellOfEnd(session);
}

void Simulation::BreakStream(int ps) {
  Endpoint* const endpoint = endpoints_[ps].get();
  const uint64_t session = endpoint->session;
  Disconnect(endpoint);
  TellOfEnd(session);
}

void Simulation::BreakLink(int from, int to) {
  endpoints_[from]->unreached_since.try_emplace(to, now_);
  ps_[from]->SetReaches(to, false);
}

void Simulation::MendLinks() {
  for (size_t from = 0; from < ps_.size(); ++from) {
    for (const auto& [to, since] : std::exchange(endpoints_[from]->unreached_since, {})) {
      ps_[from]->SetReaches(to, true);
    }
  }
}

void Simulation::TellOfEnd(uint64_t session) {
  if (session == 0) return;
  Do([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnSessionEnd(session, now, outbox);
  });
}

void Simulation::RestartProcess(Endpoint* endpoint) {
  Disconnect(endpoint);
  if (endpoint->ps != nullptr) endpoint->ps->Restart(++last_instance_);
  if (endpoint->worker != nullptr) endpoint->worker->Restart(++last_instance_);
  endpoint->stopped_until = absl::ZeroDuration();
}

// The task notices at once; the caller decides whether the coordinator does.
void Simulation::Disconnect(Endpoint* endpoint) {
  endpoint->session = 0;
  endpoint->inbox.clear();
  endpoint->outbox.clear();
  endpoint->connect_at = now_ + absl::Milliseconds(100 + Below(900));
  if (endpoint->worker != nullptr) endpoint->worker->Disconnected();
}

void Simulation::Faults() {
  if (Chance(options_.coordinator_kills)) crash_ = true;
  for (auto& endpoint : endpoints_) {
    const bool is_ps = endpoint->ps != nullptr;
    const bool lose_disk = is_ps && Chance(options_.disk_losses);
    const bool kill = Chance(is_ps ? options_.ps_kills : options_.worker_kills) || lose_disk;
    if (lose_disk) endpoint->ps->disk().clear();
    disks_lost_ |= lose_disk;
    const bool cut_off = Chance(options_.broken_streams);
    const uint64_t session = endpoint->session;
    if (kill) RestartProcess(endpoint.get());
    if (cut_off) Disconnect(endpoint.get());
    if ((kill || cut_off) && session != 0) {
      Outbox outbox;
      scheduler_->OnSessionEnd(session, Now(), &outbox);
      CarryOut(&outbox);
    }
    // No draw without hangs: other tests keep their courses of events.
    const double hangs = is_ps ? options_.disk_hangs : options_.worker_hangs;
    if (hangs > 0 && Chance(hangs)) {
      endpoint->hangs_until = now_ + absl::Seconds(1 + Below(40));
      SetHangs(endpoint.get(), true);
    }
    if (endpoint->hangs_until != absl::ZeroDuration() && now_ >= endpoint->hangs_until) {
      endpoint->hangs_until = absl::ZeroDuration();
      SetHangs(endpoint.get(), false);
    }
    if (!is_ps && Chance(options_.worker_stops)) {
      endpoint->stopped_until = now_ + absl::Seconds(1 + Below(20));
    }
  }
}

void Simulation::SetHangs(Endpoint* endpoint, bool hangs) {
  if (endpoint->ps != nullptr) {
    endpoint->ps->set_disk_hangs(hangs);
  } else {
    endpoint->worker->set_hangs(hangs);
  }
}

void Simulation::Connect(Endpoint* endpoint) {
  endpoint->session = ++last_session_;
  endpoint->heartbeat_at = now_;
  proto::TaskMessage message;
  *message.mutable_join() =
      endpoint->ps != nullptr ? endpoint->ps->MakeJoin() : endpoint->worker->MakeJoin();
  endpoint->outbox.push_back(message);
}

void Simulation::StepEndpoint(Endpoint* endpoint) {
  if (now_ < endpoint->stopped_until) return;
  const absl::Duration connect_at = std::max(endpoint->connect_at, endpoint->away_until);
  if (endpoint->session == 0 && now_ >= connect_at) Connect(endpoint);
  for (uint64_t i = Below(4); i > 0 && !endpoint->inbox.empty(); --i) {
    const proto::Command command = endpoint->inbox.front();
    endpoint->inbox.pop_front();
    proto::TaskMessage answer;
    if (endpoint->worker != nullptr) {
      endpoint->worker->Handle(command);
    } else if (endpoint->ps->Handle(
                   command, static_cast<double>(Below(1000)) < options_.disk_failures * 1000,
                   &answer)) {
      endpoint->outbox.push_back(answer);
    }
  }
  if (endpoint->ps != nullptr) endpoint->ps->Step();
  if (endpoint->worker == nullptr || !endpoint->worker->hangs()) endpoint->hangs_since = now_;
  std::vector<proto::TaskMessage> messages;
  for (uint64_t i = Below(3); i > 0 && endpoint->worker != nullptr; --i) {
    endpoint->worker->Step(endpoint->session != 0, &messages);
    if (endpoint->worker->ended()) return Kill(endpoint);
  }
  for (proto::TaskMessage& message : messages) endpoint->outbox.push_back(std::move(message));
  if (endpoint->session != 0 && now_ - endpoint->heartbeat_at > absl::Seconds(1)) {
    endpoint->heartbeat_at = now_;
    proto::Heartbeat* heartbeat = endpoint->outbox.emplace_back().mutable_heartbeat();
    if (endpoint->worker != nullptr && endpoint->worker->hangs()) {
      heartbeat->mutable_activity()->set_phase(proto::Activity::READING);
      heartbeat->mutable_activity()->set_milliseconds_without_progress(
          absl::ToInt64Milliseconds(now_ - endpoint->hangs_since));
    }
    for (const auto& [ps, since] : endpoint->unreached_since) {
      proto::SilentPs* silent = heartbeat->add_silent_ps();
      silent->set_ps(ps);
      silent->set_milliseconds(absl::ToInt64Milliseconds(now_ - since));
    }
  }
  for (uint64_t i = Below(4); i > 0 && !endpoint->outbox.empty() && endpoint->session != 0; --i) {
    const proto::TaskMessage message = endpoint->outbox.front();
    endpoint->outbox.pop_front();
    Outbox outbox;
    scheduler_->OnMessage(endpoint->session, message, Now(), &outbox);
    CarryOut(&outbox);
  }
}

void Simulation::CarryOut(Outbox* outbox) {
  if (crash_ && outbox->sync) {
    // Killed at a decision: either before it was written, or after it but before any task was told.
    if (Below(2) == 0) {
      ASSERT_TRUE(journal_->Write(outbox->changes, false).ok());
    }
    return KillCoordinator();
  }
  if (!outbox->changes.empty()) {
    ASSERT_TRUE(journal_->Write(outbox->changes, false).ok());
  }
  for (const storage::Journal::Change& change : outbox->changes) {
    if (!change.value.has_value() || !absl::StrContains(change.key, "/manifest/")) continue;
    proto::Manifest manifest;
    ASSERT_TRUE(manifest.ParseFromString(*change.value));
    CheckManifest(manifest);
  }
  for (const Outbox::Answer& answer : outbox->answers) {
    Deliver(answer.session, answer.command, answer.close);
  }
  for (const Outbox::Sending& sending : outbox->commands) {
    if (sending.command.has_grant()) CheckGrant(sending.command.grant());
    proto::Command command = sending.command;
    // As a stream sends it.
    if (sending.plan != nullptr) {
      CAIRN_CHECK(
          command.MergeFromString(PlanPrefix(command, *sending.plan) + sending.plan->bytes));
    }
    Deliver(scheduler_->SessionOf(sending.task), command, false);
  }
  for (auto& reply : outbox->replies) reply();
}

void Simulation::Deliver(uint64_t session, const proto::Command& command, bool close) {
  for (auto& endpoint : endpoints_) {
    if (session == 0 || endpoint->session != session) continue;
    endpoint->inbox.push_back(command);
    if (close) Disconnect(endpoint.get());
  }
}

void Simulation::CheckGrant(const proto::Grant& grant) {
  const auto plan = scheduler_->GetPlan(absl::StrCat(grant.job_id()));
  ASSERT_TRUE(plan.ok());
  for (const proto::Split& split : grant.train()) {
    const int64_t last = split.first() + (split.count() - 1) * split.stride();
    ASSERT_GE(split.first(), 0);
    ASSERT_GT(split.count(), 0);
    ASSERT_LT(last, plan->total_batches());
    const int64_t epoch = split.first() / plan->batches_per_epoch();
    ASSERT_EQ(epoch, last / plan->batches_per_epoch()) << "a split crosses an epoch";
    // No epoch begins before every ps has applied the previous one. (A ps that has just died will
    // roll the job back.)
    for (const SimulatedPs* ps : ps_) {
      if (!ps->HasJob(grant.job_id(), grant.generation())) continue;
      for (const auto& [id, block] : ps->blocks()) {
        for (int64_t batch = 0; batch < epoch * plan->batches_per_epoch(); ++batch) {
          ASSERT_TRUE(block.applied.contains(batch));
        }
      }
    }
  }
}

void Simulation::CheckManifest(const proto::Manifest& manifest) {
  const int64_t total = manifest.ledger().low_water() + 100000;
  const auto open = OpenBatches(manifest.ledger(), total);
  ASSERT_TRUE(open.ok());
  std::set<uint32_t> ids;
  for (const auto& ps : all_ps_) {
    for (const auto& [name, blocks] : ps->disk()) {
      if (name.first != manifest.checkpoint()) continue;
      for (const auto& [id, block] : blocks) {
        ids.insert(id);
        const auto applied = static_cast<int64_t>(block.applied.size());
        ASSERT_EQ(block.value + Rejected(block), applied) << "applied twice";
        ASSERT_EQ(manifest.applied_batches(), applied);
        for (const int64_t batch : block.applied) ASSERT_FALSE(open->Contains(batch));
        ASSERT_EQ(total - open->size(), applied) << "a torn cut";
      }
    }
  }
  if (disks_lost_) return;  // A checkpoint that was just reported may be lost again.
  ASSERT_EQ(ids.size(), size_t{kBlocks}) << "a manifest without its snapshots";
  for (const proto::SnapshotPart& part : manifest.parts()) {
    for (const uint32_t keeper : part.copies()) {
      ASSERT_TRUE(all_ps_[keeper]->disk().contains({manifest.checkpoint(), part.ps()}));
    }
  }
}

proto::JobStatus Simulation::Status(const std::string& job) {
  const auto status = scheduler_->GetJob(job, Now());
  return status.ok() ? *status : proto::JobStatus();
}

bool Simulation::HasCompleteCopies() {
  const auto list = scheduler_->ListCheckpoints("1");
  if (!list.ok() || list->manifests().empty()) return false;
  const auto& parts = list->manifests().rbegin()->parts();
  return parts.size() == 1 || std::all_of(parts.begin(), parts.end(), [](const auto& part) {
           return part.blocks() == 0 || part.copies_size() > 0;
         });
}

std::set<uint64_t> Simulation::Checkpoints() {
  std::set<uint64_t> checkpoints;
  const auto list = scheduler_->ListCheckpoints("1");
  if (!list.ok()) return checkpoints;
  for (const proto::Manifest& manifest : list->manifests())
    checkpoints.insert(manifest.checkpoint());
  return checkpoints;
}

std::set<uint64_t> Simulation::CheckpointsOnDisk() const {
  std::set<uint64_t> checkpoints;
  for (SimulatedPs* ps : ps_) {
    for (const auto& [name, blocks] : ps->disk()) checkpoints.insert(name.first);
  }
  return checkpoints;
}

bool Simulation::IsOver() {
  const proto::JobState state = Status().state();
  return state == proto::FINISHED || state == proto::FAILED || state == proto::CANCELLED;
}

bool Simulation::Run() {
  return RunUntil([this] { return IsOver(); });
}

bool Simulation::RunUntil(const std::function<bool()>& condition) {
  const absl::Duration end = now_ + absl::Hours(1);
  for (int step = 0; now_ < end; ++step) {
    now_ += kStep;
    Faults();
    for (auto& endpoint : endpoints_) {
      StepEndpoint(endpoint.get());
      if (::testing::Test::HasFatalFailure()) return false;
    }
    if (step % 5 != 0) continue;
    Do([](Scheduler* scheduler, EventTime now, Outbox* outbox) { scheduler->OnTick(now, outbox); });
    if (condition()) return true;
  }
  return false;
}

void Simulation::CheckFinished() {
  const proto::JobStatus status = Status();
  ASSERT_EQ(status.state(), proto::FINISHED) << status.DebugString();
  const auto plan = scheduler_->GetPlan("1");
  ASSERT_TRUE(plan.ok());
  const int64_t total = plan->total_batches();
  int blocks = 0;
  for (uint32_t ps = 0; ps < ps_.size(); ++ps) {
    for (const auto& [id, block] : ps_[ps]->blocks()) {
      // One that is cut off still has those of an older generation.
      if (plan->partition().blocks(static_cast<int>(id)).ps() != ps) continue;
      ASSERT_EQ(block.value + Rejected(block), total);
      ASSERT_EQ(static_cast<int64_t>(block.applied.size()), total);
      ++blocks;
    }
  }
  // A ps that dies after the end has nothing to load.
  if (options_.ps_kills + options_.disk_losses == 0) {
    ASSERT_EQ(blocks, kBlocks);
  }
  const int64_t per_epoch = plan->batches_per_epoch();
  const int64_t epochs = (total + per_epoch - 1) / per_epoch;
  ASSERT_EQ(status.evaluations_size(), plan->validation_examples() > 0 ? epochs : 0);
  for (int epoch = 0; epoch < status.evaluations_size(); ++epoch) {
    const proto::EvaluationRecord& evaluation = status.evaluations(epoch);
    ASSERT_EQ(evaluation.epoch(), epoch);
    ASSERT_EQ(evaluation.examples(), 40);
    // The simulated workers report the number of batches in the cut: all of the epoch's and no
    // others.
    ASSERT_EQ(evaluation.loss(), static_cast<double>(std::min((epoch + 1) * per_epoch, total)));
    ASSERT_EQ(evaluation.metrics(0), 1.5);
  }
  ASSERT_TRUE(storage::ReadBatches(*journal_, 1, 0, [&](const proto::BatchRecord& record) {
                EXPECT_LT(record.batch(), total);
                EXPECT_EQ(record.loss(), static_cast<double>(record.batch()));
                return true;
              }).ok());
}

}  // namespace cairn::coordinator

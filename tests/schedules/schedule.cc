#include "tests/schedules/schedule.h"

#include <rocksdb/env.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/logging.h"
#include "storage/journal.h"
#include "tests/schedules/invariants.h"
#include "tests/schedules/simulated_coordinator.h"
#include "tests/schedules/simulated_ps.h"
#include "tests/schedules/simulated_worker.h"
#include "tests/schedules/simulated_world.h"

namespace cairn::schedules {
namespace {

// A job without faults takes less than a second, and every wait has a limit.
constexpr absl::Duration kPatience = absl::Minutes(10);
constexpr int64_t kTimedUpdates = 6;

// Of plain SGD on batches of one example.
proto::Job JobOf(int64_t epochs) {
  proto::Job job;
  job.set_name("schedule");
  job.set_batch_size(1);
  job.set_epochs(epochs);
  job.mutable_loss()->set_name("mean_squared_error");
  job.mutable_optimizer()->set_name("sgd");
  job.mutable_optimizer()->set_learning_rate(1);
  return job;
}

// The whole cluster with its job and its faults.
class Schedule {
 public:
  Schedule(uint64_t seed, storage::Journal* journal, const Planted& planted)
      : planted_(planted), world_(seed), coordinator_(&world_, journal, planted) {}

  Outcome Run();
  StepTime RunTimed(const StepTimeCase& timed);

 private:
  // Draws the job.
  proto::Job MakeJob(int64_t epochs);
  int64_t Group();
  void Start(int ps_count, int workers);
  // Until the job ends, or something is violated.
  void RunEvents();
  void Fault();

  const Planted planted_;
  SimulatedWorld world_;
  SimulatedCoordinator coordinator_;
  std::deque<SimulatedPs> ps_;
  std::deque<SimulatedWorker> workers_;
  std::vector<SimulatedProcess*> processes_;
};

proto::Job Schedule::MakeJob(int64_t epochs) {
  JobShape& shape = world_.job;
  shape.per_epoch = 2 + static_cast<int64_t>(world_.Below(5));
  shape.total = shape.width = epochs * shape.per_epoch;
  proto::Job job = JobOf(epochs);
  if (world_.Below(2) == 0) {
    job.mutable_checkpoint()->set_every_steps(2 + static_cast<int64_t>(world_.Below(4)));
  }
  job.mutable_checkpoint()->set_keep(1 + static_cast<int64_t>(world_.Below(3)));
  if (shape.replicated) {
    shape.mode = "sync";
    shape.group = Group();
    job.mutable_strategy()->mutable_multi_worker_mirrored()->set_batches_per_update(shape.group);
    return job;
  }
  auto* const strategy = job.mutable_strategy()->mutable_parameter_server();
  shape.mode = std::vector<std::string>{"async", "stale", "sync"}[world_.Below(3)];
  strategy->set_mode(shape.mode);
  if (shape.mode == "stale") {
    strategy->set_window(shape.window = static_cast<int64_t>(world_.Below(4)));
  }
  if (shape.mode == "sync") strategy->set_batches_per_update(shape.group = Group());
  return job;
}

// A power of two: the mean is exact.
int64_t Schedule::Group() {
  int64_t group = int64_t{1} << world_.Below(3);
  while (group > world_.job.total) group /= 2;  // Wider ones are refused.
  return group;
}

void Schedule::Start(int ps_count, int workers) {
  world_.disks.resize(ps_count);
  for (int i = 0; i < ps_count; ++i) {
    processes_.push_back(&ps_.emplace_back(&world_, &coordinator_, i, &ps_, planted_));
    processes_.back()->Start();
  }
  for (int i = 0; i < workers; ++i) {
    processes_.push_back(&workers_.emplace_back(&world_, &coordinator_, i, &ps_));
    processes_.back()->Start();
  }
  coordinator_.Start(processes_);
}

Outcome Schedule::Run() {
  int ps_count = 1 + static_cast<int>(world_.Below(2));
  int workers = 1 + static_cast<int>(world_.Below(3));
  world_.job.replicated = world_.Below(4) == 0;
  if (world_.job.replicated) workers = std::max(workers, ++ps_count);
  const proto::Job job = MakeJob(1 + static_cast<int64_t>(world_.Below(3)));
  world_.answer_when_buffered = world_.job.mode == "sync" && world_.Below(2) == 0;
  Disturbances& disturbances = world_.disturbances;
  disturbances.slow = world_.Below(2) == 0 ? 0 : 0.05;
  disturbances.loss = world_.Below(2) == 0 ? 0 : 0.1;
  disturbances.doubling = world_.Below(2) == 0 ? 0 : 0.1;
  disturbances.disk_failures = world_.Below(4) == 0 ? 0.2 : 0;

  Start(ps_count, workers);
  coordinator_.Submit(job);
  const absl::Duration begin = world_.now();
  // In the end all disks have room, or a job may rightly fail for lack of its last checkpoint.
  world_.At(begin + absl::Seconds(30), [this] { world_.disturbances.disk_failures = 0; });
  Outcome& outcome = world_.outcome;
  // Most jobs take half a second without faults; some faults come later, after the first recovery.
  outcome.faults = static_cast<int>(world_.Below(6));
  for (int i = 0; i < outcome.faults; ++i) {
    world_.At(begin + absl::Milliseconds(world_.Below(i % 2 == 0 ? 700 : 5000)),
              [this] { Fault(); });
  }
  RunEvents();
  return std::move(outcome);
}

void Schedule::RunEvents() {
  const absl::Duration begin = world_.now();
  while (!coordinator_.job_finished() && world_.outcome.violation.empty()) {
    world_.RunNext();
    if (world_.now() - begin > kPatience) world_.Violate("the job does not end");
  }
  // A ps that died after the end has no blocks.
  for (const SimulatedPs& ps : ps_) {
    world_.Violate(CheckFinalBlocks(world_.job, ps.Capture()));
    world_.Violate(CheckFinalBlocks(world_.job, ps.CaptureReplicas()));
  }
}

StepTime Schedule::RunTimed(const StepTimeCase& timed) {
  JobShape& shape = world_.job;
  shape.mode = "sync";
  shape.group = timed.workers;
  shape.per_epoch = shape.total = kTimedUpdates * shape.group;
  shape.blocks = static_cast<uint32_t>(timed.model_bytes / timed.block_bytes);
  shape.width = 1;
  world_.timing = {timed.step, timed.latency, timed.bytes_per_second, timed.block_bytes};

  proto::Job job = JobOf(1);
  auto* const strategy = job.mutable_strategy()->mutable_parameter_server();
  strategy->set_mode(shape.mode);
  strategy->set_batches_per_update(shape.group);
  Start(timed.ps, timed.workers);
  coordinator_.Submit(job);
  RunEvents();

  StepTime result{.violation = world_.outcome.violation};
  if (!result.violation.empty()) return result;
  // Until the second update some workers have not started.
  const auto at = [&](int64_t update) { return world_.applied_at.at(update * shape.group); };
  result.measured = (at(kTimedUpdates - 1) - at(1)) / (kTimedUpdates - 2);
  const double of_worker = timed.model_bytes;
  const double of_ps = of_worker * timed.workers / timed.ps;
  result.bound =
      timed.step + 2 * absl::Seconds(std::max(of_worker, of_ps) / timed.bytes_per_second);
  return result;
}

void Schedule::Fault() {
  if (coordinator_.job_finished()) return;
  SimulatedProcess* const process = processes_[world_.Below(processes_.size())];
  switch (world_.Below(10)) {
    case 0:
      return coordinator_.KillAtNextDecision();
    case 1:
      return coordinator_.Kill();
    case 2:
      return process->BreakStream();
    case 3:
      return process->StopUntil(world_.now() + absl::Milliseconds(world_.Below(6000)));
    case 4:
      return process->HangUntil(world_.now() + absl::Milliseconds(world_.Below(12'000)));
    case 5:
      return world_.Below(2) == 0 ? coordinator_.LosePowerAtNextWrite() : process->LosePower();
    case 6:
      coordinator_.LosePower();
      for (SimulatedProcess* each : processes_) each->LosePower();
      return;
    default:
      return process->Kill();
  }
}

}  // namespace

// Without a log: its lines would take a third of the time.
MemoryJournal::MemoryJournal() { CAIRN_CHECK(InitLogging({.level = "error"}).ok()); }
MemoryJournal::~MemoryJournal() = default;

storage::Journal* MemoryJournal::Fresh() {
  // RocksDB keeps all erased records and ranges in memory, and searches them.
  if (uses_++ % 40 == 0) {
    journal_.reset();
    env_.reset(rocksdb::NewMemEnv(rocksdb::Env::Default()));
    auto journal = storage::Journal::Open("/tmp", env_.get());
    CAIRN_CHECK(journal.ok());
    journal_ = *std::move(journal);
  }
  std::vector<storage::Journal::Change> changes;
  CAIRN_CHECK(journal_
                  ->ReadPrefix("",
                               [&](std::string_view key, std::string_view) {
                                 changes.push_back({std::string(key), std::nullopt, ""});
                                 return true;
                               })
                  .ok());
  CAIRN_CHECK(journal_->Write(changes, false).ok());
  return journal_.get();
}

Outcome RunSchedule(uint64_t seed, MemoryJournal* journal, const Planted& planted) {
  return Schedule(seed, journal->Fresh(), planted).Run();
}

Outcome RunSchedule(uint64_t seed, MemoryJournal* journal) {
  return RunSchedule(seed, journal, {});
}

StepTime SimulateStepTime(const StepTimeCase& timed, MemoryJournal* journal) {
  return Schedule(1, journal->Fresh(), {}).RunTimed(timed);
}

}  // namespace cairn::schedules

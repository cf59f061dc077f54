#include "tests/schedules/schedule.h"

#include <google/protobuf/util/json_util.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/logging.h"
#include "common/random.h"
#include "coordinator/outbox.h"
#include "coordinator/scheduler.h"
#include "coordinator/shared_plan.h"
#include "coordinator/training/applied_batches.h"
#include "nn/model.h"
#include "ps_server/blocks/block.h"
#include "ps_server/blocks/ledger_summary.h"
#include "storage/journal.h"
#include "worker/work_state.h"

namespace cairn::schedules {
namespace {

using coordinator::EventTime;
using coordinator::Outbox;
using coordinator::Scheduler;

constexpr int kBlocks = 3;
constexpr absl::Duration kTick = absl::Milliseconds(100);
constexpr absl::Duration kSend = absl::Milliseconds(20);
constexpr absl::Duration kRepeat = absl::Milliseconds(300);
constexpr absl::Duration kLease = absl::Seconds(3);
constexpr absl::Duration kProgressTimeout = absl::Seconds(4);
// A job without faults takes less than a second, and every wait has a limit.
constexpr absl::Duration kPatience = absl::Minutes(10);

// One row for each block, with one weight for each batch.
proto::ModelSpec MakeModel(int64_t batches) {
  proto::ModelSpec model;
  CAIRN_CHECK(
      google::protobuf::util::JsonStringToMessage(
          absl::StrCat(
              R"({"inputs": ["in"], "outputs": ["out"], "layers": [
                 {"name": "in", "class_name": "InputLayer", "config": {"batch_shape": [null, )",
              kBlocks, R"(]}}, {"name": "out", "class_name": "Dense", "inputs": ["in"], "config":
                 {"use_bias": false, "units": )",
              batches, "}}]}"),
          &model)
          .ok());
  return model;
}

std::shared_ptr<const ps::JobLayout> LayoutOf(const proto::JobPlan& plan, uint32_t ps) {
  static auto* const layouts =
      new std::map<std::pair<std::string, uint32_t>, std::shared_ptr<const ps::JobLayout>>();
  auto& layout = (*layouts)[{plan.SerializeAsString(), ps}];
  if (layout == nullptr) {
    const auto model = nn::Model::Create(plan.model());
    CAIRN_CHECK(model.ok());
    auto made = ps::JobLayout::Create(plan, (*model)->variables(), ps);
    CAIRN_CHECK(made.ok());
    layout = *std::move(made);
  }
  return layout;
}

ps::BufferPool* Pool() {
  static auto* const pool = new ps::BufferPool();
  return pool;
}

// A block on a disk.
struct Stored {
  std::vector<float> values;
  int64_t version = 0;
  ps::PushLedger ledger;
};
using Part = std::map<uint32_t, Stored>;  // By block id.

class Schedule {
 public:
  Schedule(uint64_t seed, storage::Journal* journal, const Planted& planted)
      : seed_(seed), journal_(*journal), planted_(planted) {}
  ~Schedule() {
    for (Ps& ps : ps_) DropJob(&ps);
  }

  Outcome Run();

 private:
  // A process with its stream to the coordinator.
  struct Process {
    bool is_ps = false;
    uint32_t index = 0;
    uint64_t instance = 0;  // 0: dead.
    uint64_t session = 0;   // 0: no stream.
    absl::Duration up;      // When the last message in each direction arrives.
    absl::Duration down;
    absl::Duration stopped_until;  // As by SIGSTOP.
    absl::Duration hangs_until;    // Its trainer, or its disk.
    absl::Duration hangs_since;
  };
  struct Ps : Process {
    uint64_t generation = 0;
    uint64_t checkpoint = 0;
    std::shared_ptr<const ps::JobLayout> layout;
    std::unique_ptr<ps::UpdateRule> rule;
    std::vector<std::unique_ptr<ps::Block>> blocks;  // By position.
    std::map<uint64_t, std::vector<ps::BlockState>> cuts;
    std::map<std::pair<uint64_t, uint32_t>, Part> disk;  // By checkpoint and part.
    uint64_t disk_progress = 0;
  };
  // A request of a worker to the block of a ps, until it is answered.
  struct Request {
    uint64_t instance = 0;  // Of the worker.
    uint64_t generation = 0;
    int64_t batch = 0;
    uint32_t block = 0;
    bool is_push = false;
    bool buffered = false;  // The gradient has been buffered: only the answer is missing.
    bool over = false;
    std::function<void(ps::BlockReply)> done;
  };
  struct Worker : Process {
    std::unique_ptr<worker::WorkState> state;
    worker::JobKey key;
    bool busy = false;  // The trainer has an item.
    int64_t open_pushes = 0;
    std::vector<std::shared_ptr<Request>> requests;
  };
  struct Event {
    absl::Duration at;
    uint64_t number = 0;
    mutable std::function<void()> run;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  // ---- chance and time
  uint64_t Below(uint64_t bound) { return RandomBelow(seed_, ++draws_, bound); }
  bool Chance(double probability) {
    return static_cast<double>(Below(1'000'000)) < probability * 1e6;
  }
  absl::Duration Delay() {
    if (Chance(slow_)) return absl::Microseconds(Below(Chance(0.1) ? 2'000'000 : 100'000));
    return absl::Microseconds(100 + Below(2000));
  }
  void At(absl::Duration at, std::function<void()> run) {
    events_.push({at, ++last_event_, std::move(run)});
  }
  void After(absl::Duration delay, std::function<void()> run) { At(now_ + delay, std::move(run)); }
  // Not before the process continues, and not if it has died.
  void On(Process* process, absl::Duration delay, std::function<void()> run);
  EventTime Now() const { return {now_, absl::ToInt64Seconds(now_)}; }
  void Violate(const std::string& what) {
    if (outcome_.violation.empty()) outcome_.violation = absl::StrCat(mode_, ": ", what);
  }

  // ---- coordinator
  void Submit();
  void StartCoordinator();
  void KillCoordinator();
  void Turn(const std::function<void(Scheduler*, EventTime, Outbox*)>& event);
  void CarryOut(Outbox* outbox);
  void Tick();
  void CheckManifest(const proto::Manifest& manifest);

  // ---- processes and streams
  std::vector<Process*> Processes();
  void Start(Process* process);
  void Kill(Process* process);
  void Connect(Process* process);
  // The coordinator learns of the end later, and reads what arrives before.
  void BreakStream(Process* process);
  void SendUp(Process* process, proto::TaskMessage message);
  void SendDown(uint64_t session, const proto::Command& command, bool close);
  void Heartbeat(Process* process);
  void Fault();

  // ---- ps
  void Handle(Ps* ps, const proto::Command& command);
  void Restore(Ps* ps, const proto::Restore& restore);
  void DropJob(Ps* ps);
  std::vector<ps::BlockState> Capture(const Ps& ps) const;
  proto::LedgerReply Ledger(const Ps& ps) const;
  static proto::SnapshotPart Describe(uint32_t part, const Part& blocks);
  void MakeCut(Ps* ps, const proto::Cut& cut);
  void Persist(Ps* ps, const proto::Persist& persist);
  void Copy(Ps* ps, const proto::CopySnapshot& copy);
  void WriteWhenPossible(Ps* ps, std::function<void()> write);

  // ---- workers
  void Handle(Worker* worker, const proto::Command& command);
  void SendMessages(Worker* worker);
  void NextItem(Worker* worker);
  void Step(Worker* worker, const worker::WorkItem& item);
  void BeginStep(Worker* worker, int64_t batch);
  void Pull(Worker* worker, int64_t batch);
  void Push(Worker* worker, int64_t batch);
  void EndStep(Worker* worker);
  void WaitOrAbandon(Worker* worker, int64_t batch, std::vector<std::shared_ptr<Request>> pulls,
                     std::shared_ptr<bool> ended);
  void GenerationIsOver(Worker* worker, uint64_t generation);
  void DropRequests(Worker* worker);
  void CheckValues(int64_t batch, uint32_t block, const ps::BlockBuffer& values);

  // ---- requests
  std::shared_ptr<Request> Ask(Worker* worker, bool is_push, int64_t batch, uint32_t block,
                               std::function<void(ps::BlockReply)> done);
  void Transmit(Worker* worker, const std::shared_ptr<Request>& request);
  void Arrive(Worker* worker, const std::shared_ptr<Request>& request, bool buffered);
  void Answer(Worker* worker, const std::shared_ptr<Request>& request, ps::BlockReply reply);

  void CheckFinished();

  const uint64_t seed_;
  storage::Journal& journal_;
  const Planted planted_;
  uint64_t draws_ = 0;
  absl::Duration now_ = absl::Seconds(100);
  uint64_t last_event_ = 0;
  std::priority_queue<Event> events_;
  Outcome outcome_;

  std::string mode_;
  proto::Job job_;
  int64_t per_epoch_ = 0;
  int64_t total_ = 0;
  int64_t group_ = 1;
  int64_t window_ = -1;
  bool answer_when_buffered_ = false;
  double slow_ = 0;
  double loss_ = 0;
  double doubling_ = 0;
  double disk_failures_ = 0;

  std::unique_ptr<Scheduler> scheduler_;
  bool crash_ = false;  // At the next decision.
  bool finished_ = false;
  uint64_t last_instance_ = 0;
  uint64_t last_session_ = 0;
  std::map<uint64_t, Process*> streams_;  // As the coordinator has them.
  std::deque<Ps> ps_;
  std::deque<Worker> workers_;
};

// ------------------------------------------------------------------------------- the whole cluster

Outcome Schedule::Run() {
  const int ps_count = 1 + static_cast<int>(Below(2));
  const int workers = 1 + static_cast<int>(Below(3));
  const int64_t epochs = 1 + static_cast<int64_t>(Below(3));
  per_epoch_ = 2 + static_cast<int64_t>(Below(5));
  total_ = epochs * per_epoch_;
  job_.set_name("schedule");
  job_.set_batch_size(1);
  job_.set_epochs(epochs);
  job_.mutable_loss()->set_name("mean_squared_error");
  job_.mutable_optimizer()->set_name("sgd");
  job_.mutable_optimizer()->set_learning_rate(1);
  if (Below(2) == 0) {
    job_.mutable_checkpoint()->set_every_steps(2 + static_cast<int64_t>(Below(4)));
  }
  job_.mutable_checkpoint()->set_keep(1 + static_cast<int64_t>(Below(3)));
  auto* const strategy = job_.mutable_strategy()->mutable_parameter_server();
  mode_ = std::vector<std::string>{"async", "stale", "sync"}[Below(3)];
  strategy->set_mode(mode_);
  if (mode_ == "stale") strategy->set_window(window_ = static_cast<int64_t>(Below(4)));
  // Powers of two: the mean is exact.
  if (mode_ == "sync") strategy->set_batches_per_update(group_ = int64_t{1} << Below(3));
  answer_when_buffered_ = mode_ == "sync" && Below(2) == 0;
  slow_ = Below(2) == 0 ? 0 : 0.05;
  loss_ = Below(2) == 0 ? 0 : 0.1;
  doubling_ = Below(2) == 0 ? 0 : 0.1;
  disk_failures_ = Below(4) == 0 ? 0.2 : 0;

  for (int i = 0; i < ps_count; ++i) {
    Ps& ps = ps_.emplace_back();
    ps.is_ps = true;
    ps.index = i;
    Start(&ps);
  }
  for (int i = 0; i < workers; ++i) {
    Worker& worker = workers_.emplace_back();
    worker.index = i;
    Start(&worker);
  }
  StartCoordinator();
  Submit();
  At(now_ + kTick, [this] { Tick(); });
  const absl::Duration begin = now_;
  // Most jobs take half a second without faults; some faults come later, after the first recovery.
  outcome_.faults = static_cast<int>(Below(6));
  for (int i = 0; i < outcome_.faults; ++i) {
    At(begin + absl::Milliseconds(Below(i % 2 == 0 ? 700 : 5000)), [this] { Fault(); });
  }
  while (!finished_ && outcome_.violation.empty()) {
    CAIRN_CHECK(!events_.empty());
    now_ = events_.top().at;
    const std::function<void()> run = std::move(events_.top().run);
    events_.pop();
    ++outcome_.events;
    run();
    if (now_ - begin > kPatience) Violate("the job does not end");
  }
  if (outcome_.violation.empty()) CheckFinished();
  return std::move(outcome_);
}

void Schedule::Fault() {
  if (finished_) return;
  const std::vector<Process*> processes = Processes();
  Process* const process = processes[Below(processes.size())];
  switch (Below(8)) {
    case 0:
      crash_ = true;
      return;
    case 1:
      return KillCoordinator();
    case 2:
      return BreakStream(process);
    case 3:
      process->stopped_until = now_ + absl::Milliseconds(Below(6000));
      return;
    case 4:
      process->hangs_since = now_;
      process->hangs_until = now_ + absl::Milliseconds(Below(12'000));
      return;
    default:
      return Kill(process);
  }
}

void Schedule::On(Process* process, absl::Duration delay, std::function<void()> run) {
  After(delay, [this, process, instance = process->instance, run = std::move(run)]() mutable {
    if (process->instance != instance) return;
    if (now_ >= process->stopped_until) return run();
    On(process, process->stopped_until - now_, std::move(run));
  });
}

void Schedule::CheckFinished() {
  for (const Ps& ps : ps_) {
    if (ps.generation == 0) continue;  // It died after the end.
    const std::vector<ps::BlockState> states = Capture(ps);
    for (size_t i = 0; i < states.size(); ++i) {
      if (states[i].ledger.low_water() != total_) {
        Violate(absl::StrCat("finished, and the ledger of a block ends at ",
                             states[i].ledger.low_water(), " of ", total_));
      }
      for (int64_t batch = 0; batch < total_; ++batch) {
        const float count = -states[i].values.data()[batch];
        if (count != 1) Violate(absl::StrCat("batch ", batch, " counted ", count, " times"));
      }
    }
  }
}

// --------------------------------------------------------------------------------- the coordinator

void Schedule::Submit() {
  coordinator::ValidatedJob validated;
  *validated.request.mutable_job() = job_;
  *validated.request.mutable_model() = MakeModel(total_);
  proto::PartitionMap& map = validated.partition;
  map.set_ps_count(static_cast<uint32_t>(ps_.size()));
  proto::PartitionMap::Variable* const variable = map.add_variables();
  variable->set_name("out/kernel");
  variable->set_pushed(true);
  variable->add_shape(kBlocks);
  variable->add_shape(total_);
  for (int id = 0; id < kBlocks; ++id) {
    proto::PartitionMap::Block* const block = map.add_blocks();
    block->set_row_begin(id);
    block->set_row_end(id + 1);
    block->set_ps(static_cast<uint32_t>(id) % ps_.size());
  }
  Turn([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    CAIRN_CHECK(scheduler->Submit(validated, now, outbox).ok());
  });
}

void Schedule::StartCoordinator() {
  Scheduler::Options options;
  for (size_t i = 0; i < ps_.size(); ++i) {
    options.membership.ps_addresses.push_back(absl::StrCat("127.0.0.1:", 7000 + i));
  }
  for (size_t i = 0; i < workers_.size(); ++i) options.membership.named_workers.insert(i);
  options.membership.lease = kLease;
  options.membership.progress_timeout = kProgressTimeout;
  options.new_cluster_id = 1;
  options.journal = &journal_;
  Outbox outbox;
  auto scheduler = Scheduler::Create(std::move(options), Now(), &outbox);
  CAIRN_CHECK(scheduler.ok());
  scheduler_ = *std::move(scheduler);
  CarryOut(&outbox);
}

// The tasks notice at once, and connect again when it is back.
void Schedule::KillCoordinator() {
  if (scheduler_ == nullptr) return;
  crash_ = false;
  // Not at once: the scheduler may be in this call's stack.
  std::shared_ptr<Scheduler> old(std::move(scheduler_));
  After(absl::ZeroDuration(), [old] {});
  streams_.clear();
  for (Process* process : Processes()) {
    if (process->session != 0) BreakStream(process);
  }
  After(absl::Milliseconds(Below(1000)), [this] {
    if (scheduler_ == nullptr) StartCoordinator();
  });
}

void Schedule::Turn(const std::function<void(Scheduler*, EventTime, Outbox*)>& event) {
  if (scheduler_ == nullptr) return;
  Outbox outbox;
  event(scheduler_.get(), Now(), &outbox);
  CarryOut(&outbox);
}

void Schedule::CarryOut(Outbox* outbox) {
  if (crash_ && outbox->sync) {
    // Before the decision is written, or after it and before anybody is told.
    if (Below(2) == 0) CAIRN_CHECK(journal_.Write(outbox->changes, false).ok());
    return KillCoordinator();
  }
  if (!outbox->changes.empty()) CAIRN_CHECK(journal_.Write(outbox->changes, false).ok());
  for (const storage::Journal::Change& change : outbox->changes) {
    if (!change.value.has_value() || !absl::StrContains(change.key, "/manifest/")) continue;
    proto::Manifest manifest;
    CAIRN_CHECK(manifest.ParseFromString(*change.value));
    CheckManifest(manifest);
  }
  for (const Outbox::Answer& answer : outbox->answers) {
    SendDown(answer.session, answer.command, answer.close);
  }
  for (const Outbox::Sending& sending : outbox->commands) {
    proto::Command command = sending.command;
    // As a stream sends it.
    if (sending.plan != nullptr) {
      CAIRN_CHECK(command.MergeFromString(coordinator::PlanPrefix(command, *sending.plan) +
                                          sending.plan->bytes));
    }
    SendDown(scheduler_->SessionOf(sending.task), command, false);
  }
  for (auto& reply : outbox->replies) reply();
}

void Schedule::Tick() {
  At(now_ + kTick, [this] { Tick(); });
  if (scheduler_ == nullptr) return;
  Turn([](Scheduler* scheduler, EventTime now, Outbox* outbox) { scheduler->OnTick(now, outbox); });
  if (scheduler_ == nullptr) return;
  const auto state = scheduler_->GetState(1);
  if (!state.ok()) return Violate("the job is gone");
  finished_ = *state == proto::FINISHED;
  if (*state == proto::FAILED) {
    const auto status = scheduler_->GetJob("1", Now());
    Violate(absl::StrCat("the job failed: ", status.ok() ? status->error() : ""));
  }
  if (finished_) {
    outcome_.rollbacks = static_cast<int>(scheduler_->GetJob("1", Now())->rollbacks());
  }
}

// All parts are on disks, and every block has exactly the batches that are listed, each once.
void Schedule::CheckManifest(const proto::Manifest& manifest) {
  const auto open = coordinator::OpenBatches(manifest.ledger(), total_);
  if (!open.ok()) return Violate("a manifest has a bad ledger");
  std::set<uint32_t> found;
  for (const Ps& ps : ps_) {
    for (const auto& [name, part] : ps.disk) {
      if (name.first != manifest.checkpoint()) continue;
      for (const auto& [id, block] : part) {
        found.insert(id);
        for (int64_t batch = 0; batch < total_; ++batch) {
          const float expected = open->Contains(batch) ? 0 : -1;
          if (block.values[batch] == expected) continue;
          Violate(absl::StrCat("checkpoint ", manifest.checkpoint(), ": batch ", batch, " counted ",
                               -block.values[batch], " times, listed ", -expected));
        }
      }
    }
  }
  if (found.size() != kBlocks) {
    Violate(
        absl::StrCat("checkpoint ", manifest.checkpoint(), " has only ", found.size(), " blocks"));
  }
}

// ---------------------------------------------------------------------------- processes and
// streams

std::vector<Schedule::Process*> Schedule::Processes() {
  std::vector<Process*> all;
  for (Ps& ps : ps_) all.push_back(&ps);
  for (Worker& worker : workers_) all.push_back(&worker);
  return all;
}

void Schedule::Start(Process* process) {
  process->instance = ++last_instance_;
  process->stopped_until = process->hangs_until = absl::ZeroDuration();
  if (!process->is_ps) {
    auto* const worker = static_cast<Worker*>(process);
    worker->state = std::make_unique<worker::WorkState>();
    worker->key = {};
    worker->busy = false;
    worker->open_pushes = 0;
    On(process, kSend, [this, worker] { SendMessages(worker); });
  }
  On(process, absl::Milliseconds(1 + Below(30)), [this, process] { Connect(process); });
  On(process, absl::Seconds(1), [this, process] { Heartbeat(process); });
}

void Schedule::Kill(Process* process) {
  if (process->instance == 0) return;
  BreakStream(process);
  process->instance = 0;
  if (process->is_ps) {
    DropJob(static_cast<Ps*>(process));
  } else {
    DropRequests(static_cast<Worker*>(process));
  }
  After(absl::Milliseconds(Below(Chance(0.2) ? 5000 : 300)), [this, process] {
    if (process->instance == 0) Start(process);
  });
}

void Schedule::Connect(Process* process) {
  if (process->session != 0) return;
  if (scheduler_ == nullptr) {
    return On(process, absl::Milliseconds(50 + Below(200)), [this, process] { Connect(process); });
  }
  process->session = ++last_session_;
  streams_[process->session] = process;
  process->up = process->down = now_;
  proto::TaskMessage message;
  proto::Join& join = *message.mutable_join();
  join.set_role(process->is_ps ? proto::PS : proto::WORKER);
  join.set_index(process->index);
  join.set_instance_id(process->instance);
  if (!process->is_ps) {
    static_cast<Worker*>(process)->state->FillJoin(&join);
  } else if (const auto& ps = static_cast<Ps&>(*process); ps.generation != 0) {
    join.set_job_id(1);
    join.set_generation(ps.generation);
  }
  SendUp(process, std::move(message));
}

void Schedule::BreakStream(Process* process) {
  const uint64_t session = std::exchange(process->session, 0);
  if (session != 0) {
    After(Delay(), [this, session] {
      if (streams_.erase(session) == 0) return;
      Turn([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
        scheduler->OnSessionEnd(session, now, outbox);
      });
    });
  }
  if (process->instance == 0) return;
  if (!process->is_ps) static_cast<Worker*>(process)->state->OnDisconnected();
  On(process, absl::Milliseconds(Below(500)), [this, process] { Connect(process); });
}

void Schedule::SendUp(Process* process, proto::TaskMessage message) {
  if (process->session == 0) return;
  process->up = std::max(process->up, now_ + Delay());
  At(process->up, [this, session = process->session, message = std::move(message)] {
    if (!streams_.contains(session)) return;
    Turn([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      scheduler->OnMessage(session, message, now, outbox);
    });
  });
}

void Schedule::SendDown(uint64_t session, const proto::Command& command, bool close) {
  const auto found = streams_.find(session);
  if (found == streams_.end()) return;
  Process* const process = found->second;
  if (process->session == session) {
    process->down = std::max(process->down, now_ + Delay());
    On(process, process->down - now_, [this, process, session, command, close] {
      if (process->session != session) return;
      if (close) return BreakStream(process);
      if (process->is_ps) {
        Handle(static_cast<Ps*>(process), command);
      } else {
        Handle(static_cast<Worker*>(process), command);
      }
    });
  }
  if (close) streams_.erase(session);
}

void Schedule::Heartbeat(Process* process) {
  On(process, absl::Seconds(1), [this, process] { Heartbeat(process); });
  proto::TaskMessage message;
  proto::Heartbeat& heartbeat = *message.mutable_heartbeat();
  if (process->is_ps) {
    heartbeat.set_disk_progress(static_cast<Ps*>(process)->disk_progress);
  } else if (now_ < process->hangs_until) {
    heartbeat.mutable_activity()->set_phase(proto::Activity::READING);
    heartbeat.mutable_activity()->set_milliseconds_without_progress(
        absl::ToInt64Milliseconds(now_ - process->hangs_since));
  }
  SendUp(process, std::move(message));
}

// -------------------------------------------------------------------------------------------- a ps

void Schedule::DropJob(Ps* ps) {
  const absl::Status why = absl::AbortedError("the job is over here");
  for (auto& block : ps->blocks) block->Close(why);
  ps->blocks.clear();
  ps->cuts.clear();
  ps->generation = ps->checkpoint = 0;
}

std::vector<ps::BlockState> Schedule::Capture(const Ps& ps) const {
  std::vector<ps::BlockState> states;
  for (const auto& block : ps.blocks) states.push_back(block->state());
  return states;
}

proto::LedgerReply Schedule::Ledger(const Ps& ps) const {
  if (ps.generation == 0) return {};
  return ps::SummarizeLedgers(*ps.layout, ps.generation, Capture(ps));
}

proto::SnapshotPart Schedule::Describe(uint32_t part, const Part& blocks) {
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

void Schedule::Restore(Ps* ps, const proto::Restore& restore) {
  proto::TaskMessage message;
  proto::RestoreReply& reply = *message.mutable_restored();
  reply.set_job_id(1);
  reply.set_generation(restore.generation());
  reply.set_checkpoint(restore.checkpoint());
  const bool loaded =
      ps->generation == restore.generation() && ps->checkpoint == restore.checkpoint();
  if (ps->generation > restore.generation()) {
    reply.set_error("no way back");
    return SendUp(ps, std::move(message));
  }
  if (!loaded) {
    DropJob(ps);
    ps->layout = LayoutOf(restore.plan(), ps->index);
    std::vector<ps::BlockState> states;
    for (const ps::BlockSpec& block : ps->layout->blocks()) {
      ps::BlockState& state = states.emplace_back();
      state.values = Pool()->Allocate(total_);
      std::fill_n(state.values.data(), total_, 0.0f);
      if (restore.checkpoint() == 0) continue;
      const Stored* stored = nullptr;
      for (const proto::SnapshotSource& source : restore.parts()) {
        for (const uint32_t holder : source.holders()) {
          const auto found = ps_[holder].disk.find({restore.checkpoint(), source.part().ps()});
          if (found == ps_[holder].disk.end()) continue;
          const auto in_part = found->second.find(block.id);
          if (in_part != found->second.end()) stored = &in_part->second;
        }
      }
      if (stored == nullptr) {
        reply.set_error("no such snapshot");
        reply.set_transient(true);
        return SendUp(ps, std::move(message));
      }
      std::copy(stored->values.begin(), stored->values.end(), state.values.data());
      state.version = stored->version;
      state.ledger = stored->ledger;
    }
    ps->rule = std::make_unique<ps::UpdateRule>(ps->layout.get(), Pool());
    for (size_t i = 0; i < states.size(); ++i) {
      ps->blocks.push_back(std::make_unique<ps::Block>(
          ps->layout.get(), static_cast<int>(i), ps->rule.get(), std::move(states[i]),
          ps::Block::Options{.unsafe_disable_ledger = planted_.ledger_off}));
    }
    ps->generation = restore.generation();
    ps->checkpoint = restore.checkpoint();
  }
  *reply.mutable_ledger() = Ledger(*ps);
  SendUp(ps, std::move(message));
}

void Schedule::WriteWhenPossible(Ps* ps, std::function<void()> write) {
  const absl::Duration hangs = std::max(absl::ZeroDuration(), ps->hangs_until - now_);
  On(ps, hangs + absl::Microseconds(Below(Chance(0.2) ? 500'000 : 20'000)), std::move(write));
}

void Schedule::Persist(Ps* ps, const proto::Persist& persist) {
  proto::TaskMessage message;
  proto::PersistReply& reply = *message.mutable_persisted();
  reply.set_job_id(1);
  reply.set_cut(persist.cut());
  reply.set_generation(persist.generation());
  const auto cut = ps->cuts.find(persist.cut());
  if (ps->generation != persist.generation() || cut == ps->cuts.end()) {
    reply.set_error("there is no such cut");
    return SendUp(ps, std::move(message));
  }
  Part part;
  for (size_t i = 0; i < cut->second.size(); ++i) {
    const ps::BlockState& state = cut->second[i];
    part[ps->layout->blocks()[i].id] = {
        {state.values.data(), state.values.data() + state.values.count()},
        state.version,
        state.ledger};
  }
  WriteWhenPossible(ps, [this, ps, message, part = std::move(part), cut = persist.cut()]() mutable {
    if (Chance(disk_failures_)) {
      message.mutable_persisted()->set_error("no space left on device");
    } else {
      *message.mutable_persisted()->mutable_part() = Describe(ps->index, part);
      ps->disk[{cut, ps->index}] = std::move(part);
      ++ps->disk_progress;
    }
    SendUp(ps, std::move(message));
  });
}

void Schedule::Copy(Ps* ps, const proto::CopySnapshot& copy) {
  WriteWhenPossible(ps, [this, ps, copy] {
    proto::TaskMessage message;
    proto::CopyReply& reply = *message.mutable_copied();
    reply.set_job_id(1);
    reply.set_checkpoint(copy.checkpoint());
    reply.set_part(copy.part().ps());
    const auto& theirs = ps_[copy.part().ps()].disk;
    const auto original = theirs.find({copy.checkpoint(), copy.part().ps()});
    if (original == theirs.end() || Chance(disk_failures_)) {
      reply.set_error("it cannot be copied");
    } else {
      ps->disk[original->first] = original->second;
      ++ps->disk_progress;
    }
    SendUp(ps, std::move(message));
  });
}

void Schedule::MakeCut(Ps* ps, const proto::Cut& cut) {
  proto::TaskMessage message;
  proto::CutReply& reply = *message.mutable_cut();
  reply.set_job_id(1);
  reply.set_cut(cut.cut());
  reply.set_generation(cut.generation());
  if (ps->generation == cut.generation()) {
    if (!ps->cuts.contains(cut.cut())) {
      ps->cuts.clear();
      ps->cuts[cut.cut()] = Capture(*ps);
    }
    *reply.mutable_ledger() =
        ps::SummarizeLedgers(*ps->layout, ps->generation, ps->cuts[cut.cut()]);
  } else {
    reply.set_error("not this generation");
  }
  SendUp(ps, std::move(message));
}

void Schedule::Handle(Ps* ps, const proto::Command& command) {
  proto::TaskMessage message;
  switch (command.command_case()) {
    case proto::Command::kRestore:
      return On(ps, absl::Microseconds(Below(20'000)),
                [this, ps, restore = command.restore()] { Restore(ps, restore); });
    case proto::Command::kListSnapshots:
      message.mutable_snapshots()->set_job_id(command.list_snapshots().job_id());
      for (const auto& [name, part] : ps->disk) {
        proto::ReadableSnapshot* const snapshot = message.mutable_snapshots()->add_snapshots();
        snapshot->set_checkpoint(name.first);
        *snapshot->mutable_part() = Describe(name.second, part);
        snapshot->set_own_disk(true);
      }
      return SendUp(ps, std::move(message));
    case proto::Command::kCopySnapshot:
      return Copy(ps, command.copy_snapshot());
    case proto::Command::kMakeCut:
      return MakeCut(ps, command.make_cut());
    case proto::Command::kPersist:
      return Persist(ps, command.persist());
    case proto::Command::kLedgerQuery:
      *message.mutable_ledger() = Ledger(*ps);
      message.mutable_ledger()->set_query(command.ledger_query().query());
      return SendUp(ps, std::move(message));
    case proto::Command::kDropCut:
      ps->cuts.erase(command.drop_cut().cut());
      return;
    case proto::Command::kDeleteCheckpoint:
      return WriteWhenPossible(ps, [ps, checkpoint = command.delete_checkpoint().checkpoint()] {
        std::erase_if(ps->disk, [&](const auto& entry) { return entry.first.first == checkpoint; });
      });
    case proto::Command::kStopJob:
      return DropJob(ps);
    default:
      return;
  }
}

// --------------------------------------------------------------------------------------- a worker

void Schedule::Handle(Worker* worker, const proto::Command& command) {
  if (command.has_welcome()) {
    worker->state->OnWelcome(command.welcome().keep_leases(), now_);
  } else {
    worker->state->OnCommand(command);
  }
  NextItem(worker);
}

void Schedule::SendMessages(Worker* worker) {
  On(worker, kSend, [this, worker] { SendMessages(worker); });
  if (worker->session == 0) return;
  for (proto::TaskMessage& message : worker->state->TakeMessages(now_)) {
    SendUp(worker, std::move(message));
  }
}

// The trainer's thread: one item after the other.
void Schedule::NextItem(Worker* worker) {
  if (worker->busy) return;
  if (now_ < worker->hangs_until) {
    return On(worker, worker->hangs_until - now_, [this, worker] { NextItem(worker); });
  }
  const std::optional<worker::WorkItem> item = worker->state->NextItem();
  if (!item.has_value()) return;
  worker->busy = true;
  Step(worker, *item);
}

void Schedule::EndStep(Worker* worker) {
  worker->busy = false;
  NextItem(worker);
}

void Schedule::Step(Worker* worker, const worker::WorkItem& item) {
  switch (item.kind) {
    case worker::WorkItem::Kind::kInspect:
      return On(worker, Delay(), [this, worker, inspect = item.inspect] {
        proto::InspectReply reply;
        reply.set_job_id(inspect->job_id());
        reply.set_examples(per_epoch_);
        worker->state->Inspected(reply);
        EndStep(worker);
      });
    case worker::WorkItem::Kind::kStartJob:
      DropRequests(worker);
      worker->key = {item.job->plan().job_id(), item.job->generation()};
      return On(worker, Delay(), [this, worker] {
        worker->state->Ready(worker->key);
        EndStep(worker);
      });
    case worker::WorkItem::Kind::kTrain:
      // Reading takes its time, and may hang.
      return On(worker,
                std::max(absl::ZeroDuration(), worker->hangs_until - now_) +
                    absl::Microseconds(Below(Chance(0.1) ? 100'000 : 8000)),
                [this, worker, batch = item.batch] { BeginStep(worker, batch); });
    default:
      DropRequests(worker);
      return EndStep(worker);
  }
}

// Not synchronous: the previous step must be applied, so that its values are here.
void Schedule::BeginStep(Worker* worker, int64_t batch) {
  if (mode_ == "sync" || worker->open_pushes == 0) return Pull(worker, batch);
  if (!worker->state->ShouldKeepWaiting(worker->key, batch)) {
    worker->state->StepEnded();
    worker->state->ReturnBatch(worker->key, batch);
    return EndStep(worker);
  }
  On(worker, absl::Milliseconds(5), [this, worker, batch] { BeginStep(worker, batch); });
}

void Schedule::Pull(Worker* worker, int64_t batch) {
  auto left = std::make_shared<int>(kBlocks);
  auto applied = std::make_shared<bool>(false);
  auto ended = std::make_shared<bool>(false);
  std::vector<std::shared_ptr<Request>> pulls;
  for (uint32_t block = 0; block < kBlocks; ++block) {
    pulls.push_back(Ask(worker, false, batch, block,
                        [this, worker, batch, block, left, applied, ended](ps::BlockReply reply) {
                          if (*ended) return;
                          *applied |= reply.applied_before;
                          if (!reply.applied_before) CheckValues(batch, block, reply.values);
                          if (--*left > 0) return;
                          *ended = true;
                          if (*applied) {
                            worker->state->StepEnded();
                            worker->state->AppliedByOthers(worker->key, batch);
                            return EndStep(worker);
                          }
                          On(worker, absl::Microseconds(Below(Chance(0.1) ? 50'000 : 4000)),
                             [this, worker, batch] { Push(worker, batch); });
                        }));
  }
  On(worker, absl::Milliseconds(5),
     [this, worker, batch, pulls, ended] { WaitOrAbandon(worker, batch, pulls, ended); });
}

void Schedule::WaitOrAbandon(Worker* worker, int64_t batch,
                             std::vector<std::shared_ptr<Request>> pulls,
                             std::shared_ptr<bool> ended) {
  if (*ended) return;
  // Another request has ended this generation, and the step with it.
  const bool over = pulls.front()->generation != worker->key.generation;
  if (!over && worker->state->ShouldKeepWaiting(worker->key, batch)) {
    return On(worker, absl::Milliseconds(10),
              [this, worker, batch, pulls, ended] { WaitOrAbandon(worker, batch, pulls, ended); });
  }
  *ended = true;
  for (const auto& pull : pulls) pull->over = true;
  worker->state->StepEnded();
  worker->state->ReturnBatch(worker->key, batch);
  EndStep(worker);
}

void Schedule::Push(Worker* worker, int64_t batch) {
  // If this generation is over, its requests are answered so, and nobody waits for the record.
  ++worker->open_pushes;
  auto left = std::make_shared<int>(kBlocks);
  for (uint32_t block = 0; block < kBlocks; ++block) {
    Ask(worker, true, batch, block, [this, worker, batch, left](ps::BlockReply reply) {
      if (reply.applied_before) ++outcome_.duplicates;
      if (--*left > 0) return;
      --worker->open_pushes;
      proto::BatchRecord record;
      record.set_batch(batch);
      record.set_examples(1);
      record.set_loss(1);
      worker->state->Applied(worker->key, record);
      NextItem(worker);
    });
  }
  worker->state->StepEnded();
  EndStep(worker);
}

void Schedule::GenerationIsOver(Worker* worker, uint64_t generation) {
  if (worker->key.generation != generation) return;
  worker->state->GenerationIsOver(worker->key);
  DropRequests(worker);
}

void Schedule::DropRequests(Worker* worker) {
  for (const auto& request : worker->requests) request->over = true;
  worker->requests.clear();
  worker->open_pushes = 0;
}

// What the job's mode promises about the values that a batch is computed on.
void Schedule::CheckValues(int64_t batch, uint32_t block, const ps::BlockBuffer& values) {
  int64_t all_below = 0;
  int64_t none_from = total_;
  if (mode_ == "sync") {
    const int64_t epoch = batch / per_epoch_;
    all_below = epoch * per_epoch_ + batch % per_epoch_ / group_ * group_;
    none_from = all_below;
  } else if (mode_ == "stale") {
    all_below = std::max<int64_t>(0, batch - window_);
  }
  for (int64_t other = 0; other < total_; ++other) {
    const float count = -values.data()[other];
    const bool right = other < all_below    ? count == 1
                       : other >= none_from ? count == 0
                                            : count == 0 || count == 1;
    if (right) continue;
    Violate(absl::StrCat("batch ", batch, " was computed on values of block ", block,
                         " in which batch ", other, " counted ", count, " times"));
  }
}

// ---------------------------------------------------------------------------------------- requests

std::shared_ptr<Schedule::Request> Schedule::Ask(Worker* worker, bool is_push, int64_t batch,
                                                 uint32_t block,
                                                 std::function<void(ps::BlockReply)> done) {
  auto request = std::make_shared<Request>();
  request->instance = worker->instance;
  request->generation = worker->key.generation;
  request->batch = batch;
  request->block = block;
  request->is_push = is_push;
  request->done = std::move(done);
  std::erase_if(worker->requests, [](const auto& each) { return each->over; });
  worker->requests.push_back(request);
  Transmit(worker, request);
  return request;
}

// Sends the request, and again until it is answered.
void Schedule::Transmit(Worker* worker, const std::shared_ptr<Request>& request) {
  if (request->over || worker->instance != request->instance) return;
  const bool buffered = request->buffered;
  const int copies = Chance(loss_) ? 0 : Chance(doubling_) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    // A double may arrive very late.
    const absl::Duration late =
        i > 0 ? absl::Microseconds(Below(Chance(0.3) ? 3'000'000 : 20'000)) : absl::ZeroDuration();
    After(Delay() + late, [this, worker, request, buffered] { Arrive(worker, request, buffered); });
  }
  On(worker, kRepeat, [this, worker, request] { Transmit(worker, request); });
}

void Schedule::Arrive(Worker* worker, const std::shared_ptr<Request>& request, bool buffered) {
  Ps& ps = ps_[request->block % ps_.size()];
  if (ps.instance == 0) return;
  if (now_ < ps.stopped_until) {
    return On(&ps, ps.stopped_until - now_,
              [this, worker, request, buffered] { Arrive(worker, request, buffered); });
  }
  const auto done = [this, worker, request, instance = ps.instance](ps::BlockReply reply) {
    if (Chance(loss_)) return;
    After(Delay(),
          [this, worker, request, reply = std::make_shared<ps::BlockReply>(std::move(reply))] {
            Answer(worker, request, std::move(*reply));
          });
  };
  if (ps.generation != request->generation) {
    ps::BlockReply reply;
    reply.status = absl::FailedPreconditionError("not this generation");
    return done(std::move(reply));
  }
  const auto position = ps.layout->Find(request->block);
  CAIRN_CHECK(position.ok());
  ps::Block& block = *ps.blocks[*position];
  if (!request->is_push) {
    ps::ParkedPulls::Pull pull;
    pull.batch = request->batch;
    pull.done = done;
    pull.abandoned = [request] { return request->over; };
    return block.Pull(std::move(pull));
  }
  ps::BlockPush push;
  push.batch = request->batch;
  push.answer_when_buffered = answer_when_buffered_ && !buffered;
  push.already_buffered = buffered;
  if (!buffered) {
    push.gradient = Pool()->Allocate(total_);
    std::fill_n(push.gradient.data(), total_, 0.0f);
    // The mean of an update divides by its number of batches.
    const int64_t in_epoch = request->batch % per_epoch_;
    const int64_t first = in_epoch / group_ * group_;
    push.gradient.data()[request->batch] = static_cast<float>(std::min(group_, per_epoch_ - first));
  }
  block.Push(std::move(push), done);
}

void Schedule::Answer(Worker* worker, const std::shared_ptr<Request>& request,
                      ps::BlockReply reply) {
  if (request->over || worker->instance != request->instance) return;
  if (now_ < worker->stopped_until) {
    auto kept = std::make_shared<ps::BlockReply>(std::move(reply));
    return On(worker, worker->stopped_until - now_,
              [this, worker, request, kept] { Answer(worker, request, std::move(*kept)); });
  }
  if (absl::IsUnavailable(reply.status) || absl::IsResourceExhausted(reply.status)) {
    return;  // Sent again in a while.
  }
  if (absl::IsFailedPrecondition(reply.status) || absl::IsAborted(reply.status) ||
      absl::IsCancelled(reply.status)) {
    return GenerationIsOver(worker, request->generation);
  }
  if (!reply.status.ok()) {
    return Violate(absl::StrCat("a ps refused a request: ", reply.status.ToString()));
  }
  if (reply.buffered) {
    if (std::exchange(request->buffered, true)) return;
    return Transmit(worker, request);
  }
  request->over = true;
  request->done(std::move(reply));
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

}  // namespace cairn::schedules

#include "tests/coordinator/month.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "tests/coordinator/training/metric_plan.h"

namespace cairn::coordinator {
namespace {

constexpr absl::Duration kRound = absl::Milliseconds(50);
// As many as a report of a real worker has at most: their metric states fill 1 MiB.
constexpr int kBatchesPerReport = 300;
constexpr int64_t kOnHand = 4096;  // As of a real worker.
constexpr int kBatchSize = 10;
constexpr int64_t kMeasureEvery = 20;  // Rounds: once a simulated second.

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double CpuSeconds() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

int64_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<int64_t>(info.uordblks + info.hblkhd);
}

int64_t FolderBytes(const std::string& folder) {
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code removed;  // RocksDB's threads delete files meanwhile.
    const auto size = entry.file_size(removed);
    if (!removed) bytes += static_cast<int64_t>(size);
  }
  return bytes;
}

// A batch with metrics: every example is counted, half of them correct, spread over all thresholds.
proto::BatchRecord ARecord() {
  proto::BatchRecord record;
  record.set_examples(kBatchSize);
  record.set_loss(0.5);
  record.add_metrics(0.5);
  record.add_metrics(0.75);
  proto::MetricState* const accuracy = record.add_metric_states();
  accuracy->add_values(kBatchSize / 2);
  accuracy->add_values(kBatchSize);
  proto::MetricState* const auc = record.add_metric_states();
  for (int i = 0; i < 400; ++i) auc->add_values(i % 40 == 0 ? 1 : 0);
  return record;
}

}  // namespace

Month::Month(const Options& options)
    : options_(options), record_(ARecord()), next_restart_(options.first_restart) {
  CAIRN_CHECK(options.batches % options.batches_per_epoch == 0);
  workers_.resize(kWorkers);
  heap_before_ = HeapBytes();
  StartCoordinator();
  ValidatedJob validated;
  proto::Job& job = *validated.request.mutable_job();
  const proto::JobPlan plan = MetricPlan({"binary_accuracy", "auc"});
  job = plan.job();
  *validated.request.mutable_model() = plan.model();
  job.set_name("month");
  job.set_batch_size(kBatchSize);
  job.set_epochs(options.batches / options.batches_per_epoch);
  if (options.keep_history > 0) job.set_keep_history(options.keep_history);
  job.mutable_strategy()->mutable_parameter_server()->set_mode("async");
  proto::Callback* const callback = job.add_callbacks();
  callback->set_name("early_stopping");
  callback->set_monitor("auc");
  callback->set_patience(1'000'000);
  proto::PartitionMap& map = validated.partition;
  map.set_ps_count(1);
  map.add_variables()->set_name("v");
  map.mutable_variables(0)->add_shape(1);
  map.add_blocks()->set_row_end(1);
  Turn([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    CAIRN_CHECK(scheduler->Submit(validated, now, outbox).ok());
  });
  Join();
}

Month::~Month() = default;

// ------------------------------------------------------------------------------- the coordinator

// As after kill -9: what was written is there, and the heap and all streams are gone.
void Month::StartCoordinator() {
  scheduler_.reset();
  journal_.reset();
  const double begin = Seconds();
  auto journal = storage::Journal::Open(options_.directory);
  CAIRN_CHECK(journal.ok());
  journal_ = *std::move(journal);
  Scheduler::Options options;
  options.membership.ps_addresses = {"127.0.0.1:7000"};
  for (int i = 0; i < kWorkers; ++i) options.membership.named_workers.insert(i);
  options.new_cluster_id = 1;
  options.journal = journal_.get();
  Outbox outbox;
  auto scheduler = Scheduler::Create(std::move(options), Now(), &outbox);
  CAIRN_CHECK(scheduler.ok());
  scheduler_ = *std::move(scheduler);
  CarryOut(&outbox);
  cost_.restart_max = std::max(cost_.restart_max, Seconds() - begin);
}

void Month::Join() {
  proto::TaskMessage message;
  proto::Join& join = *message.mutable_join();
  join.set_role(proto::PS);
  join.set_instance_id(1);
  if (ps_generation_ != 0) {
    join.set_job_id(1);
    join.set_generation(ps_generation_);
  }
  Tell(ps_session_ = ++last_session_, message);
  for (int i = 0; i < kWorkers; ++i) {
    Worker& worker = workers_[i];
    message.Clear();
    proto::Join& each = *message.mutable_join();
    each.set_role(proto::WORKER);
    each.set_index(i);
    each.set_instance_id(2 + i);
    if (worker.generation != 0) {
      each.set_job_id(1);
      each.set_generation(worker.generation);
      for (const proto::Split& split : worker.leases.Holding()) *each.add_leases() = split;
    }
    worker.pauses.clear();
    Tell(worker.session = ++last_session_, message);
  }
}

void Month::Turn(const std::function<void(Scheduler*, EventTime, Outbox*)>& event) {
  const double begin = Seconds();
  const double cpu = CpuSeconds();
  Outbox outbox;
  event(scheduler_.get(), Now(), &outbox);
  CarryOut(&outbox);
  const double used = CpuSeconds() - cpu;
  cost_.turn_max = std::max(cost_.turn_max, Seconds() - begin);
  cost_.turn_cpu_max = std::max(cost_.turn_cpu_max, used);
  cpu_ += used;
  ++turns_;
}

void Month::CarryOut(Outbox* outbox) {
  int64_t bytes = 0;
  for (const storage::Journal::Change& change : outbox->changes) {
    bytes += static_cast<int64_t>(change.key.size() + change.end.size() +
                                  change.value.value_or("").size());
  }
  cost_.turn_changes_max =
      std::max(cost_.turn_changes_max, static_cast<int64_t>(outbox->changes.size()));
  cost_.turn_bytes_max = std::max(cost_.turn_bytes_max, bytes);
  if (!outbox->changes.empty()) {
    CAIRN_CHECK(journal_->Write(outbox->changes, outbox->sync).ok());
  }
  for (const Outbox::Answer& answer : outbox->answers) Deliver(answer.session, answer.command);
  for (const Outbox::Sending& sending : outbox->commands) {
    Deliver(scheduler_->SessionOf(sending.task), sending.command);
  }
  for (auto& reply : outbox->replies) reply();
}

void Month::Deliver(uint64_t session, const proto::Command& command) {
  if (session == 0) return;
  if (session == ps_session_) return HandlePs(command);
  for (Worker& worker : workers_) {
    if (worker.session == session) Handle(&worker, command);
  }
}

void Month::Tell(uint64_t session, const proto::TaskMessage& message) {
  Turn([&](Scheduler* scheduler, EventTime now, Outbox* outbox) {
    scheduler->OnMessage(session, message, now, outbox);
  });
}

void Month::SendReplies() {
  while (!replies_.empty()) {
    const auto [session, message] = std::move(replies_.front());
    replies_.pop_front();
    Tell(session, message);
  }
}

// --------------------------------------------------------------------------------------- the tasks

proto::LedgerReply Month::Ledger() const {
  proto::LedgerReply reply;
  reply.set_job_id(1);
  reply.set_generation(ps_generation_);
  reply.set_blocks(1);
  *reply.mutable_applied_on_all() = ledger_.ToProto();
  *reply.mutable_applied_on_any() = reply.applied_on_all();
  return reply;
}

void Month::HandlePs(const proto::Command& command) {
  proto::TaskMessage message;
  if (command.has_restore()) {
    CAIRN_CHECK(command.restore().checkpoint() == 0);  // Nothing here kills the ps.
    ps_generation_ = command.restore().generation();
    message.mutable_restored()->set_job_id(1);
    message.mutable_restored()->set_generation(ps_generation_);
    *message.mutable_restored()->mutable_ledger() = Ledger();
  } else if (command.has_make_cut()) {
    message.mutable_cut()->set_job_id(1);
    message.mutable_cut()->set_cut(command.make_cut().cut());
    message.mutable_cut()->set_generation(ps_generation_);
    *message.mutable_cut()->mutable_ledger() = Ledger();
  } else if (command.has_persist()) {
    proto::PersistReply& reply = *message.mutable_persisted();
    reply.set_job_id(1);
    reply.set_cut(command.persist().cut());
    reply.set_generation(ps_generation_);
    reply.mutable_part()->set_blocks(1);
    reply.mutable_part()->set_checksum(command.persist().cut());
  } else if (command.has_ledger_query()) {
    *message.mutable_ledger() = Ledger();
    message.mutable_ledger()->set_query(command.ledger_query().query());
  } else if (command.has_list_snapshots()) {
    message.mutable_snapshots()->set_job_id(command.list_snapshots().job_id());
  } else {
    return;
  }
  replies_.emplace_back(ps_session_, std::move(message));
}

void Month::Handle(Worker* worker, const proto::Command& command) {
  proto::TaskMessage message;
  if (command.has_welcome()) {
    if (!command.welcome().keep_leases()) worker->leases.Clear();
  } else if (command.has_inspect()) {
    message.mutable_inspected()->set_job_id(1);
    message.mutable_inspected()->set_inspection(command.inspect().inspection());
    message.mutable_inspected()->set_examples(options_.batches_per_epoch * kBatchSize);
    replies_.emplace_back(worker->session, std::move(message));
  } else if (command.has_start_job()) {
    if (worker->generation == command.start_job().generation()) return;
    worker->generation = command.start_job().generation();
    worker->leases.Clear();
  } else if (command.has_stop_job()) {
    worker->generation = 0;
  } else if (command.has_grant()) {
    for (const proto::Split& split : command.grant().train()) worker->leases.Add(split);
  } else if (command.has_pause()) {
    proto::WorkPaused& paused = worker->pauses.emplace_back();
    paused.set_pause_id(command.pause().pause_id());
    for (proto::Split& split : worker->leases.TakeWaiting()) {
      *paused.add_returned() = std::move(split);
    }
  }
}

// What a worker does in one round. The records of a report are all alike but for their numbers.
void Month::Work(Worker* worker) {
  if (worker->generation == 0) return;
  proto::WorkReport& report = *worker->report.mutable_work();
  report.set_job_id(1);
  report.set_generation(worker->generation);
  int count = 0;
  for (; count < kBatchesPerReport; ++count) {
    const std::optional<int64_t> batch = worker->leases.Start();
    if (!batch.has_value()) break;
    CAIRN_CHECK(ledger_.TestAndSet(*batch).ok());
    worker->leases.Finish(*batch);
    if (count == report.batches_size()) *report.add_batches() = record_;
    report.mutable_batches(count)->set_batch(*batch);
  }
  report.mutable_batches()->DeleteSubrange(count, report.batches_size() - count);
  report.set_queued(worker->leases.waiting());
  report.set_wanted(std::max<int64_t>(0, kOnHand - worker->leases.waiting()));
  report.set_blocked_on(-1);
  Tell(worker->session, worker->report);
  for (const proto::WorkPaused& paused : std::exchange(worker->pauses, {})) {
    proto::TaskMessage message;
    *message.mutable_paused() = paused;
    Tell(worker->session, message);
  }
}

// --------------------------------------------------------------------------------------- the time

bool Month::RunUntil(int64_t batches) {
  int64_t idle = 0;
  for (int64_t round = 0;; ++round) {
    const int64_t before = ledger_.low_water();
    now_ += kRound;
    SendReplies();
    for (Worker& worker : workers_) Work(&worker);
    Turn([](Scheduler* scheduler, EventTime now, Outbox* outbox) {
      scheduler->OnTick(now, outbox);
    });
    if (round % kMeasureEvery == 0) {
      for (Worker& worker : workers_) {
        proto::TaskMessage message;
        message.mutable_heartbeat();
        Tell(worker.session, message);
      }
      proto::TaskMessage message;
      message.mutable_heartbeat();
      Tell(ps_session_, message);
      Measure();
      if (Status().state() == proto::FINISHED) return true;
    }
    if (ledger_.low_water() >= next_restart_) {
      next_restart_ += next_restart_ / 4;
      ++cost_.restarts;
      replies_.clear();
      StartCoordinator();
      Join();
    }
    if (batches < options_.batches && ledger_.low_water() >= batches) return true;
    idle = ledger_.low_water() > before ? 0 : idle + 1;
    if (idle > 2000) return false;  // 100 simulated seconds.
  }
}

void Month::Measure() {
  cost_.batches = ledger_.low_water();
  cost_.memory = std::max<int64_t>(0, HeapBytes() - heap_before_);
  cost_.memory_max = std::max(cost_.memory_max, cost_.memory);
  cost_.disk = FolderBytes(options_.directory);
  cost_.disk_max = std::max(cost_.disk_max, cost_.disk);
}

Month::Cost Month::cost() {
  Measure();
  cost_.turn_cpu_mean = cpu_ / static_cast<double>(turns_);
  return cost_;
}

// A client that follows the job costs a turn each time.
proto::JobStatus Month::Status() {
  proto::JobStatus status;
  Turn([&](Scheduler* scheduler, EventTime now, Outbox*) {
    auto found = scheduler->GetJob("1", now);
    if (found.ok()) status = *std::move(found);
  });
  return status;
}

}  // namespace cairn::coordinator

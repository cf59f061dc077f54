#ifndef CAIRN_TESTS_COORDINATOR_MONTH_H_
#define CAIRN_TESTS_COORDINATOR_MONTH_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/outbox.h"
#include "coordinator/scheduler.h"
#include "parameters/blocks/push_ledger.h"
#include "proto/coordinator.pb.h"
#include "storage/journal.h"
#include "worker/lease_queue.h"

namespace cairn::coordinator {

// A very long job without computing, in one thread and simulated time: the real scheduler with its
// real journal on a real disk, workers that keep their leases as real ones do and report many
// batches at a time, and one ps that is only a ledger. The job has the metrics accuracy and AUC
// (3.2 KB of state for each batch), a checkpoint and a decision of a callback for each epoch. The
// coordinator is killed and started again at batch `first_restart`, and whenever the number of
// batches has grown by a quarter: about 10 times for each factor of ten.
class Month {
 public:
  struct Options {
    std::string directory;  // Of the journal.
    int64_t batches = 0;    // A multiple of batches_per_epoch.
    int64_t batches_per_epoch = 100'000;
    int64_t first_restart = 30'000;
    int64_t keep_history = 0;  // 0: the default.
  };

  // Of everything so far, except for `batches`, `memory` and `disk`, which are as of now. A turn is
  // one event: its decision, and its write to the journal. Times are in seconds.
  struct Cost {
    int64_t batches = 0;
    int64_t restarts = 0;
    int64_t memory = 0;  // Heap of scheduler and journal, in bytes; 0 if it cannot be measured.
    int64_t memory_max = 0;
    int64_t disk = 0;  // Bytes of all files of the journal.
    int64_t disk_max = 0;
    int64_t turn_changes_max = 0;  // Records changed in one turn.
    int64_t turn_bytes_max = 0;    // Bytes written to the journal in one turn.
    double turn_max = 0;           // By the clock, the journal's sync included.
    double turn_cpu_max = 0;       // Of this thread's CPU time.
    double turn_cpu_mean = 0;
    double restart_max = 0;  // The journal is opened and read.
  };

  explicit Month(const Options& options);
  ~Month();

  // Runs until this many batches are done, or the job is over. False: nothing goes on.
  bool RunUntil(int64_t batches);
  Cost cost();

  proto::JobStatus Status();
  storage::Journal& journal() { return *journal_; }

 private:
  static constexpr int kWorkers = 4;
  struct Worker {
    uint64_t session = 0;
    uint64_t generation = 0;  // 0: it has no job.
    worker::LeaseQueue leases;
    std::vector<proto::WorkPaused> pauses;
    proto::TaskMessage report;
  };

  void StartCoordinator();
  void Join();
  // One event.
  void Turn(const std::function<void(Scheduler*, EventTime, Outbox*)>& event);
  void CarryOut(Outbox* outbox);
  void Deliver(uint64_t session, const proto::Command& command);
  void Tell(uint64_t session, const proto::TaskMessage& message);
  void SendReplies();
  void Handle(Worker* worker, const proto::Command& command);
  void HandlePs(const proto::Command& command);
  proto::LedgerReply Ledger() const;
  void Work(Worker* worker);
  EventTime Now() const { return {now_, absl::ToInt64Seconds(now_)}; }
  void Measure();

  const Options options_;
  proto::BatchRecord record_;  // As of any batch.
  int64_t heap_before_ = 0;
  absl::Duration now_ = absl::Seconds(100);
  int64_t next_restart_;
  Cost cost_;
  double cpu_ = 0;
  int64_t turns_ = 0;

  std::unique_ptr<storage::Journal> journal_;
  std::unique_ptr<Scheduler> scheduler_;
  uint64_t last_session_ = 0;
  uint64_t ps_session_ = 0;
  uint64_t ps_generation_ = 0;
  parameters::PushLedger ledger_;
  std::vector<Worker> workers_;
  // Replies to commands, to be sent in further turns.
  std::deque<std::pair<uint64_t, proto::TaskMessage>> replies_;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_MONTH_H_

#ifndef CAIRN_TESTS_BENCHMARKS_LEASING_WORKER_H_
#define CAIRN_TESTS_BENCHMARKS_LEASING_WORKER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/benchmarks/light_session.h"
#include "worker/work_state.h"

namespace cairn::benchmarks {

// A worker that leases and reports batches like the real one (it uses the product's WorkState) but
// computes nothing: a batch is done at once, or after a fixed time. Thread-safe.
class LeasingWorker {
 public:
  struct Options {
    int64_t examples = 1;           // Reported for the job's data.
    double batches_per_second = 0;  // 0: batches take no time.
    // Asks for one batch whenever it has none, and measures how long it waits for the lease.
    bool one_by_one = false;
    // Applies a batch, before it is reported. May be null. Must not block.
    std::function<void(int64_t batch)> apply;
  };

  // Starts to join.
  LeasingWorker(const std::string& coordinator, Options options);

  // Completes the batches that are due and sends the messages that are due. Call it some tens of
  // times per second.
  void Tick() { session_.Tick(); }

  bool joined() { return session_.joined(); }
  // Whether it has the job.
  bool started();
  // How often its stream has ended.
  int breaks() { return session_.breaks(); }
  // Streams, after the first, on which it did not keep the leases that it had.
  int leases_lost();
  // In seconds, since the last call.
  std::vector<double> TakeLeaseTimes();

 private:
  proto::Join MakeJoin() ABSL_LOCKS_EXCLUDED(mutex_);
  void Handle(const proto::Command& command, absl::Duration now, LightSession::Messages* messages);
  void Work(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Do(const worker::WorkItem& task) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeMessages(absl::Duration now, LightSession::Messages* messages)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Options options_;

  Mutex mutex_;
  worker::WorkState state_ ABSL_GUARDED_BY(mutex_);
  worker::JobKey key_ ABSL_GUARDED_BY(mutex_);
  int64_t index_ ABSL_GUARDED_BY(mutex_) = -1;
  uint64_t cluster_id_ ABSL_GUARDED_BY(mutex_) = 0;
  int leases_lost_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Duration next_batch_ ABSL_GUARDED_BY(mutex_);
  std::optional<absl::Duration> asked_at_ ABSL_GUARDED_BY(mutex_);
  std::vector<double> lease_times_ ABSL_GUARDED_BY(mutex_);

  LightSession session_;  // Last: its callbacks use all of the above.
};

}  // namespace cairn::benchmarks

#endif  // CAIRN_TESTS_BENCHMARKS_LEASING_WORKER_H_

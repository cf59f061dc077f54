#ifndef CAIRN_WORKER_REPORT_QUEUE_H_
#define CAIRN_WORKER_REPORT_QUEUE_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "proto/coordinator.pb.h"

namespace cairn::worker {

// The worker's load, which is part of every report. In batches.
struct WorkerLoad {
  int64_t queued = 0;       // Leased to this worker, started or not.
  int64_t pushed = 0;       // Of them: computed and pushed, not applied yet.
  bool starved = false;     // No leased batch could be started.
  int64_t blocked_on = -1;  // The batch that waits for others; -1: none.
};

// Collects the results of one generation and decides when to report them to the coordinator.
//
// Reports are not acknowledged, and one that was sent may be lost with its stream. The queue
// therefore keeps recently sent batch records and sends them again on the next stream. The
// coordinator uses the later of two records of one batch.
//
// Not thread-safe. Makes no threads and reads no clock: the caller passes the time.
class ReportQueue {
 public:
  // Forgets everything, at a new job or generation.
  void Clear();

  void AddBatch(const proto::BatchRecord& record) { batches_.push_back(record); }
  void AddEvaluated(const proto::EvaluatedBatch& batch) { evaluated_.push_back(batch); }

  // A new stream has begun: queues the recently sent records again.
  void SendAgain(absl::Duration now);

  // Returns the next report if one is due; call it until it returns none. With `all`, any
  // unreported result makes a report due at once.
  std::optional<proto::WorkReport> TakeDue(const WorkerLoad& load, bool all, absl::Duration now);
  // Queues the results of a report that could not be sent.
  void Requeue(const proto::WorkReport& report);

 private:
  struct Sent {
    absl::Duration at;
    proto::BatchRecord record;
    size_t bytes = 0;
  };

  bool Due(const WorkerLoad& load, bool all, absl::Duration now) const;
  void Forget(absl::Duration now);

  std::deque<proto::BatchRecord> batches_;
  std::deque<proto::EvaluatedBatch> evaluated_;
  std::deque<Sent> sent_;
  size_t sent_bytes_ = 0;  // Of all in sent_.
  std::optional<absl::Duration> last_;
  WorkerLoad last_load_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_REPORT_QUEUE_H_

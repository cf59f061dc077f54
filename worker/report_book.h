#ifndef CAIRN_WORKER_REPORT_BOOK_H_
#define CAIRN_WORKER_REPORT_BOOK_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "proto/coordinator.pb.h"

namespace cairn::worker {

// What the coordinator is to be told of a generation's work, and when. A report that was sent may
// be lost with its stream, and nothing acknowledges it: the newest ones are kept and sent again on
// the next stream (the coordinator takes the later of two). A pure machine, not thread-safe.
class ReportBook {
 public:
  // Where the worker stands; goes into every report.
  struct Standing {
    int64_t queued = 0;    // On hand, started or not.
    int64_t pushed = 0;    // Of them: computed and pushed, not applied yet.
    bool starved = false;  // Nothing on hand that could be started.
    int64_t blocked_on = -1;
  };

  // Nothing to tell: another job or generation.
  void Clear();

  void AddBatch(const proto::BatchRecord& record) { batches_.push_back(record); }
  void AddEvaluated(const proto::EvaluatedBatch& batch) { evaluated_.push_back(batch); }

  // A new stream: what was sent lately is told again.
  void SendAgain(absl::Duration now);

  // The next report if one is due; call again until there is none. `all`: as soon as there is
  // anything to tell.
  std::optional<proto::WorkReport> TakeDue(const Standing& standing, bool all, absl::Duration now);
  // It could not be sent.
  void PutBack(const proto::WorkReport& report);

 private:
  struct Sent {
    absl::Duration at;
    proto::BatchRecord record;
  };

  bool Due(const Standing& standing, bool all, absl::Duration now) const;
  void Forget(absl::Duration now);

  std::deque<proto::BatchRecord> batches_;
  std::deque<proto::EvaluatedBatch> evaluated_;
  std::deque<Sent> sent_;
  std::optional<absl::Duration> last_;
  Standing last_standing_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_REPORT_BOOK_H_

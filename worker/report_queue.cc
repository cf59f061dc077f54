#include "worker/report_queue.h"

#include <algorithm>
#include <set>

namespace cairn::worker {
namespace {

// Between reports that only carry results.
constexpr absl::Duration kInterval = absl::Milliseconds(50);
// Between reports of a worker that has run out of batches.
constexpr absl::Duration kUrgentInterval = absl::Milliseconds(5);
// A worker without results repeats its request for batches.
constexpr absl::Duration kRepeatInterval = absl::Seconds(1);
// A broken stream is detected within a lease (10 s), so anything sent earlier has arrived.
constexpr absl::Duration kKept = absl::Seconds(15);
// Beyond these the oldest are forgotten. If they were lost with a stream, their batches are leased
// again, and the ps refuse the duplicates.
constexpr size_t kKeptMax = 65536;
constexpr size_t kKeptBytesMax = size_t{16} << 20;
// Limits for one report: metric states may make records large.
constexpr int kRecordsMax = 4096;
constexpr size_t kRecordBytesMax = size_t{1} << 20;
// Bounds a worker's memory only; the coordinator decides how many batches to lease.
constexpr int64_t kOnHandMax = 4096;

}  // namespace

void ReportQueue::Clear() { *this = ReportQueue(); }

void ReportQueue::SendAgain(absl::Duration now) {
  Forget(now);
  // In front of the unsent ones and in their old order, so that reports stay in order of time.
  for (auto it = sent_.rbegin(); it != sent_.rend(); ++it) batches_.push_front(it->record);
  sent_.clear();
  sent_bytes_ = 0;
  // The first report on a stream is due at once: the coordinator does not know this worker's load.
  last_.reset();
}

void ReportQueue::Forget(absl::Duration now) {
  while (!sent_.empty() && (now - sent_.front().at > kKept || sent_.size() > kKeptMax ||
                            sent_bytes_ > kKeptBytesMax)) {
    sent_bytes_ -= sent_.front().bytes;
    sent_.pop_front();
  }
}

bool ReportQueue::Due(const WorkerLoad& load, bool all, absl::Duration now) const {
  if (!last_) return true;
  const absl::Duration elapsed = now - *last_;
  const bool anything = !batches_.empty() || !evaluated_.empty();
  if (anything && (all || elapsed >= kInterval)) return true;
  if (load.blocked_on != last_load_.blocked_on && elapsed >= kInterval) return true;
  // In a synchronous job no batch is reported before its update is complete. A growing number of
  // pushed batches then shows that the worker has used up its lease.
  const bool newly_starved =
      load.starved && (anything || !last_load_.starved || load.pushed > last_load_.pushed);
  return (newly_starved && elapsed >= kUrgentInterval) || elapsed >= kRepeatInterval;
}

std::optional<proto::WorkReport> ReportQueue::TakeDue(const WorkerLoad& load, bool all,
                                                      absl::Duration now) {
  if (!Due(load, all, now)) return std::nullopt;
  Forget(now);
  proto::WorkReport report;
  size_t bytes = 0;
  while (!batches_.empty() && report.batches_size() < kRecordsMax && bytes < kRecordBytesMax) {
    const size_t size = batches_.front().ByteSizeLong();
    bytes += size;
    sent_bytes_ += size;
    sent_.push_back({now, batches_.front(), size});
    *report.add_batches() = std::move(batches_.front());
    batches_.pop_front();
  }
  // Evaluated batches are not kept: a lost stream ends their grant, and the coordinator grants them
  // again.
  while (!evaluated_.empty() && report.evaluated_size() < kRecordsMax && bytes < kRecordBytesMax) {
    bytes += evaluated_.front().ByteSizeLong();
    *report.add_evaluated() = std::move(evaluated_.front());
    evaluated_.pop_front();
  }
  report.set_queued(load.queued);
  report.set_pushed(load.pushed);
  // Pushed batches do not count: a synchronous worker needs further ones to complete the update
  // that would apply them.
  report.set_wanted(std::max<int64_t>(0, kOnHandMax - (load.queued - load.pushed)));
  report.set_blocked_on(load.blocked_on);
  last_ = now;
  last_load_ = load;
  return report;
}

void ReportQueue::Requeue(const proto::WorkReport& report) {
  std::set<int64_t> unsent;
  for (int i = report.batches_size() - 1; i >= 0; --i) {
    batches_.push_front(report.batches(i));
    unsent.insert(report.batches(i).batch());
  }
  // Matched by batch number: later records may have been sent since.
  std::erase_if(sent_, [&](const Sent& sent) {
    if (!unsent.contains(sent.record.batch())) return false;
    sent_bytes_ -= sent.bytes;
    return true;
  });
  for (int i = report.evaluated_size() - 1; i >= 0; --i) {
    evaluated_.push_front(report.evaluated(i));
  }
}

}  // namespace cairn::worker

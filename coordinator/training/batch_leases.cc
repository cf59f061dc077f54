#include "coordinator/training/batch_leases.h"

#include <algorithm>

namespace cairn::coordinator {
namespace {

constexpr int64_t kOnHandFirst = 2;
constexpr int64_t kOnHandMax = 1024;
constexpr absl::Duration kForgottenAfter = absl::Minutes(1);
constexpr absl::Duration kLookForForgotten = absl::Seconds(1);

}  // namespace

// Half a second of work per worker. Near the end the rest is divided evenly, so that all workers
// finish together.
int64_t BatchLeases::Target(const Worker& worker, int64_t workers, int64_t limit,
                            absl::Duration now) const {
  int64_t target = kOnHandFirst;
  const double seconds = absl::ToDoubleSeconds(now - worker.granted_at);
  if (worker.done_since > 0 && seconds > 0) {
    target = static_cast<int64_t>(static_cast<double>(worker.done_since) / seconds / 2);
  }
  const int64_t fair_share = (missing_.CountBelow(limit) + workers - 1) / workers;
  return std::min(std::clamp(target, kOnHandFirst, kOnHandMax), fair_share);
}

std::vector<proto::Split> BatchLeases::Grant(TaskId id, int64_t workers, int64_t limit,
                                             absl::Duration now) {
  std::vector<proto::Split> splits;
  TakeBackForgotten(now);
  if (open_.empty() || open_.front() >= limit) return splits;
  Worker& worker = workers_[id];
  const int64_t target = Target(worker, std::max<int64_t>(1, workers), limit, now);
  // Refilled when half is done: one grant serves many batches.
  if (worker.leased.size() > target / 2) return splits;
  if (worker.leased.empty()) {
    worker.granted_at = now;
    worker.done_since = 0;
  }
  worker.heard_at = now;
  while (!open_.empty() && open_.front() < limit && worker.leased.size() < target) {
    const auto [begin, range_end] = *open_.ranges().begin();
    const int64_t end = std::min({range_end, limit, begin + target - worker.leased.size()});
    open_.Remove(begin, end);
    worker.leased.Add(begin, end);
    worker.taken_back.Remove(begin, end);
    proto::Split& split = splits.emplace_back();
    split.set_first(begin);
    split.set_stride(1);
    split.set_count(end - begin);
  }
  return splits;
}

BatchLeases::Result BatchLeases::Done(TaskId id, int64_t batch, absl::Duration now) {
  const auto found = workers_.find(id);
  // Only the result of a worker that was asked counts. A slow worker's result is as good as that of
  // the worker that has its lease now. If it did not count, batches that take more than a minute
  // would never be done.
  if (found == workers_.end()) return Result::kNotLeased;
  Worker& worker = found->second;
  if (!worker.leased.Contains(batch) && !worker.taken_back.Contains(batch)) {
    return Result::kNotLeased;
  }
  worker.leased.Remove(batch, batch + 1);
  worker.taken_back.Remove(batch, batch + 1);
  ++worker.done_since;
  worker.heard_at = now;
  if (!missing_.Contains(batch)) return Result::kRepeated;
  missing_.Remove(batch, batch + 1);
  open_.Remove(batch, batch + 1);
  return Result::kFirst;
}

void BatchLeases::TakeBackForgotten(absl::Duration now) {
  if (now - looked_for_forgotten_at_ < kLookForForgotten) return;
  looked_for_forgotten_at_ = now;
  for (auto& [id, worker] : workers_) {
    if (worker.leased.empty() || now - worker.heard_at < kForgottenAfter) continue;
    TakeBackFrom(&worker);
  }
}

void BatchLeases::TakeBackFrom(Worker* worker) {
  const BatchRanges forgotten = missing_.Intersection(worker->leased);
  open_.Add(forgotten);
  worker->taken_back.Add(forgotten);
  worker->leased.Clear();
}

void BatchLeases::TakeBack(TaskId id) {
  if (const auto found = workers_.find(id); found != workers_.end()) TakeBackFrom(&found->second);
}

int64_t BatchLeases::leased(TaskId id) const {
  const auto found = workers_.find(id);
  return found == workers_.end() ? 0 : found->second.leased.size();
}

std::optional<int64_t> BatchLeases::LowestOf(TaskId id) const {
  const auto found = workers_.find(id);
  if (found == workers_.end() || found->second.leased.empty()) return std::nullopt;
  return found->second.leased.front();
}

void BatchLeases::Drop(TaskId id) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  // Batches that another worker has reported meanwhile stay done.
  open_.Add(missing_.Intersection(found->second.leased));
  workers_.erase(found);
}

}  // namespace cairn::coordinator

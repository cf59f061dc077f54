#include "coordinator/training/split_queue.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "common/check.h"

namespace cairn::coordinator {
namespace {

constexpr int64_t kOnHandMin = 2;  // One is computed, one is read meanwhile.
constexpr int64_t kOnHandMax = 4096;
// The most batches that a blocked worker gets at once of those that it waits for.
constexpr int64_t kUnblockMax = 64;
// A worker that does nothing for so many median steps, and for so long, is slow.
constexpr int64_t kSlowSteps = 10;
constexpr absl::Duration kSlowMin = absl::Seconds(1);
// Speed measured over less time is too noisy.
constexpr absl::Duration kMeasureMin = absl::Milliseconds(100);

// Whether a worker may have these splits, of whatever job. A forged message must not keep the loop
// busy.
bool MayBeLeases(absl::Span<const proto::Split> splits) {
  int64_t left = kLeasedAheadMax;
  for (const proto::Split& split : splits) {
    if (split.first() < 0 || split.stride() < 1 || split.count() < 1) return false;
    if (split.count() > left) return false;
    left -= split.count();
  }
  return true;
}

// Calls visit(begin, end) for each run of neighboring batches in splits that may be leases.
// Batches outside [0, total), perhaps of an earlier job, are skipped.
template <typename Visit>
void VisitRuns(absl::Span<const proto::Split> splits, int64_t total, Visit visit) {
  for (const proto::Split& split : splits) {
    const int64_t stride = split.stride();
    const int64_t first = std::min(split.first(), total);
    const int64_t left = total - first;
    const int64_t count = std::min(split.count(), left / stride + (left % stride == 0 ? 0 : 1));
    const bool is_run = stride == 1;
    for (int64_t i = 0; i < (is_run ? 1 : count); ++i) {
      visit(first + i * stride, first + i * stride + (is_run ? count : 1));
    }
  }
}

proto::Split MakeSplit(int64_t first, int64_t stride, int64_t count) {
  proto::Split split;
  split.set_first(first);
  split.set_stride(stride);
  split.set_count(count);
  return split;
}

}  // namespace

SplitQueue::SplitQueue(SplitQueueOptions options, BatchRanges open)
    : options_(options), open_(std::move(open)) {
  CAIRN_CHECK(options_.batches_per_epoch > 0 && options_.batches_per_update > 0);
}

void SplitQueue::Lease(Worker* worker, int64_t begin, int64_t end) {
  open_.Remove(begin, end);
  worker->leased.Add(begin, end);
  leased_.Add(begin, end);
}

void SplitQueue::Unlease(Worker* worker, int64_t begin, int64_t end) {
  leased_.Remove(worker->leased.Intersection(begin, end));
  worker->leased.Remove(begin, end);
}

void SplitQueue::ReturnAll(TaskId id, Worker* worker) {
  if (worker->leased.empty()) return;
  BatchRanges& taken = taken_[id];
  taken = Unfinished(taken);
  taken.Add(worker->leased);
  Open(worker->leased);
  leased_.Remove(worker->leased);
  worker->leased.Clear();
}

// Their groups are looked at again: they may be of a worker that is gone.
void SplitQueue::Open(const BatchRanges& batches) {
  if (batches.empty()) return;
  open_.Add(batches);
  unclaimed_from_ = std::min(unclaimed_from_, batches.front());
}

bool SplitQueue::Report(TaskId id, const proto::WorkReport& report, absl::Duration now) {
  const auto [it, is_new] = workers_.try_emplace(id);
  Worker& worker = it->second;
  if (is_new) worker.measured_at = worker.idle_since = now;
  if (worker.moved_at == absl::InfiniteDuration()) worker.moved_at = now;
  worker.wanted = std::max<int64_t>(0, report.wanted());
  worker.pushed = std::clamp<int64_t>(report.pushed(), 0, worker.leased.size());
  worker.blocked_on = report.blocked_on();
  worker.queued = report.queued();
  // The worker may have reported before the grant reached it: only a queue that is too short well
  // after the grant shows that leases are lost.
  worker.lacks_leases =
      worker.queued < worker.leased.size() && now - worker.granted_at > options_.grant_arrives;
  return worker.lacks_leases;
}

void SplitQueue::Reconcile(const BatchRanges& open) {
  open_ = open_.Intersection(open);
  leased_ = leased_.Intersection(open);
  for (auto& [id, worker] : workers_) {
    worker.leased = worker.leased.Intersection(open);
    // Only workers that reported an empty queue give up their leases; the others still compute
    // theirs.
    if (worker.lacks_leases && worker.queued <= 0) ReturnAll(id, &worker);
    worker.lacks_leases = false;
  }
}

void SplitQueue::Measure(Worker* worker, int64_t done, absl::Duration now) {
  worker->done_since += done;
  const absl::Duration elapsed = now - worker->measured_at;
  if (elapsed < kMeasureMin) return;
  // An exponential moving average: follows a change of speed within a few reports.
  const double rate = static_cast<double>(worker->done_since) / absl::ToDoubleSeconds(elapsed);
  double& known = worker->batches_per_second;
  known = known == 0 ? rate : 0.6 * known + 0.4 * rate;
  worker->measured_at = now;
  worker->done_since = 0;
}

void SplitQueue::Resume() {
  leased_before_ = open_.Intersection(LowWater(), LowWater() + kLeasedAheadMax);
}

bool SplitQueue::MayReport(TaskId id, int64_t batch) const {
  if (!open_.Contains(batch) && !leased_.Contains(batch)) return true;
  if (leased_before_.Contains(batch)) return true;
  const auto worker = workers_.find(id);
  if (worker != workers_.end() && worker->second.leased.Contains(batch)) return true;
  const auto taken = taken_.find(id);
  return taken != taken_.end() && taken->second.Contains(batch);
}

void SplitQueue::Done(TaskId id, absl::Span<const int64_t> batches, absl::Duration now) {
  if (batches.empty()) return;
  Worker& worker = workers_[id];
  for (const int64_t batch : batches) {
    // If this worker's lease ended before its report, the batch may be open again: then it is done.
    // If it is leased to another worker, it stays leased until that worker reports it.
    Unlease(&worker, batch, batch + 1);
    open_.Remove(batch, batch + 1);
  }
  Measure(&worker, static_cast<int64_t>(batches.size()), now);
  worker.moved_at = now;
  if (worker.leased.empty()) worker.idle_since = now;
}

bool SplitQueue::Return(TaskId id, absl::Span<const proto::Split> splits) {
  if (!MayBeLeases(splits)) return false;
  Worker& worker = workers_[id];
  slow_.erase(id);
  VisitRuns(splits, options_.total_batches, [&](int64_t begin, int64_t end) {
    const BatchRanges returned = worker.leased.Intersection(begin, end);
    Unlease(&worker, begin, end);
    Open(returned);
    worker.wanted += returned.size();
  });
  return true;
}

void SplitQueue::Drop(TaskId id) {
  auto it = workers_.find(id);
  if (it == workers_.end()) return;
  ReturnAll(id, &it->second);
  workers_.erase(it);
  // The rest of its groups, of which it may not have had a batch leased.
  for (auto owner = owners_.begin(); owner != owners_.end();) {
    if (owner->second != id) {
      ++owner;
      continue;
    }
    unclaimed_from_ = std::min(unclaimed_from_, options_.groups.Range(owner->first).first);
    owner = owners_.erase(owner);
  }
  underserved_.erase(id);
  slow_.erase(id);
}

bool SplitQueue::Adopt(TaskId id, absl::Span<const proto::Split> splits) {
  if (!MayBeLeases(splits)) return false;
  Worker& worker = workers_[id];
  VisitRuns(splits, options_.total_batches, [&](int64_t begin, int64_t end) {
    // Only open batches: the ledgers may have some of them, and another worker may have adopted
    // them.
    taken_[id].Add(leased_.Intersection(begin, end));
    const BatchRanges held = open_.Intersection(begin, end);
    for (const auto& [from, to] : held.ranges()) Lease(&worker, from, to);
  });
  return true;
}

void SplitQueue::Reopen(const BatchRanges& batches) {
  BatchRanges lacking = batches;
  lacking.Remove(leased_);
  Open(lacking);
}

int64_t SplitQueue::LowWater() const {
  const int64_t low_water = open_.empty() ? options_.total_batches : open_.front();
  return leased_.empty() ? low_water : std::min(low_water, leased_.front());
}

int64_t SplitQueue::LeasedEnd() const { return leased_.empty() ? 0 : leased_.end(); }

std::vector<TaskId> SplitQueue::WorkersWithLeases() const {
  std::vector<TaskId> workers;
  for (const auto& [id, worker] : workers_) {
    if (!worker.leased.empty()) workers.push_back(id);
  }
  return workers;
}

std::optional<int64_t> SplitQueue::LowestOf(TaskId id) const {
  const auto found = workers_.find(id);
  if (found != workers_.end() && !found->second.leased.empty()) return found->second.leased.front();
  if (!slow_.contains(id)) return std::nullopt;
  const BatchRanges computing = Unfinished(taken_.at(id));
  return computing.empty() ? std::nullopt : std::optional<int64_t>(computing.front());
}

std::optional<TaskId> SplitQueue::OwnerOf(int64_t batch) const {
  for (const auto& [id, worker] : workers_) {
    if (worker.leased.Contains(batch)) return id;
  }
  return std::nullopt;
}

absl::Duration SplitQueue::MedianStep() const {
  std::vector<double> rates;
  for (const auto& [id, worker] : workers_) {
    if (worker.batches_per_second > 0) rates.push_back(worker.batches_per_second);
  }
  if (rates.empty()) return absl::ZeroDuration();
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return absl::Seconds(1 / *middle);
}

BatchRanges SplitQueue::Unfinished(const BatchRanges& batches) const {
  BatchRanges unfinished = open_.Intersection(batches);
  unfinished.Add(leased_.Intersection(batches));
  return unfinished;
}

int64_t SplitQueue::AllowedEnd() const { return std::min(limit_, LowWater() + kLeasedAheadMax); }

// Every worker gets its share of each update. If an update has fewer batches than there are
// workers, some workers take part in every update and the others in none, since they could only
// wait.
int64_t SplitQueue::Stride(int64_t workers) const {
  if (options_.synchronous) return std::min(options_.batches_per_update, workers);
  return options_.window >= 0 ? workers : 1;
}

int64_t SplitQueue::Target(const Worker& worker, int64_t workers) const {
  int64_t target = options_.first_batches;
  if (worker.batches_per_second > 0) {
    target =
        static_cast<int64_t>(worker.batches_per_second * absl::ToDoubleSeconds(options_.on_hand));
  }
  const int64_t left = open_.CountBelow(AllowedEnd()) + leased_.size();
  // Near the limit the rest is divided evenly, so that no worker ends up with all of it.
  const int64_t fair_share = std::max<int64_t>(1, (left + workers - 1) / workers);
  return std::min(std::clamp(target, kOnHandMin, kOnHandMax), fair_share);
}

std::optional<std::pair<int64_t, int64_t>> SplitQueue::NextOfOwnGroups(Worker* worker,
                                                                       int64_t end) const {
  while (!worker->groups.empty()) {
    const auto [begin, group_end] = options_.groups.Range(*worker->groups.begin());
    const auto run = open_.NextFrom(begin);
    if (run && run->first < group_end) {
      // Beyond the limit now: so are its later groups.
      if (run->first >= end) return std::nullopt;
      return std::pair(run->first, std::min(run->second, group_end));
    }
    worker->groups.erase(worker->groups.begin());
  }
  return std::nullopt;
}

std::optional<std::pair<int64_t, int64_t>> SplitQueue::ClaimGroup(TaskId id, Worker* worker,
                                                                  int64_t end) {
  // Groups that are done are forgotten.
  while (!owners_.empty() && options_.groups.Range(owners_.begin()->first).second <= LowWater()) {
    owners_.erase(owners_.begin());
  }
  for (auto run = open_.NextFrom(unclaimed_from_); run && run->first < end;
       run = open_.NextFrom(unclaimed_from_)) {
    const int64_t group = options_.groups.Of(run->first);
    const int64_t group_end = options_.groups.Range(group).second;
    if (owners_.try_emplace(group, id).first->second == id) {
      worker->groups.insert(group);
      return std::pair(run->first, std::min(run->second, group_end));
    }
    unclaimed_from_ = group_end;
  }
  return std::nullopt;
}

std::pair<int64_t, int64_t> SplitQueue::NextRun(TaskId id, Worker* worker, int64_t end) {
  if (!options_.groups.empty()) {
    if (const auto run = NextOfOwnGroups(worker, end)) return *run;
    if (const auto run = ClaimGroup(id, worker, end)) return *run;
  }
  return *open_.ranges().begin();
}

// Every column begins at the lowest open batch, so the lowest batches are leased first. A split
// never crosses an epoch's end: workers read each epoch in its own order.
void SplitQueue::Take(TaskId id, Worker* worker, int64_t count, int64_t stride, int64_t end,
                      std::vector<proto::Split>* splits) {
  while (count > 0 && AnyOpenBelow(end)) {
    const auto [first, run_end] = NextRun(id, worker, end);
    const int64_t epoch_end = (first / options_.batches_per_epoch + 1) * options_.batches_per_epoch;
    const int64_t column_end = std::min(end, epoch_end);
    int64_t taken = 0;
    int64_t batch = first;
    if (stride == 1) {
      taken = std::min({count, column_end - first, run_end - first});
      Lease(worker, first, first + taken);
    } else {
      for (; taken < count && batch < column_end && open_.Contains(batch); batch += stride) {
        Lease(worker, batch, batch + 1);
        ++taken;
      }
    }
    splits->push_back(MakeSplit(first, stride, taken));
    count -= taken;
  }
}

std::vector<TaskId> SplitQueue::TakeFromSlow(const std::set<TaskId>& workers, absl::Duration now) {
  std::vector<TaskId> slow;
  if (leased_.empty() || AnyAllowed()) return slow;
  const auto waits = [this](TaskId id) {
    const auto worker = workers_.find(id);
    return worker != workers_.end() && !slow_.contains(id) && worker->second.wanted > 0 &&
           OnHand(worker->second) == 0;
  };
  const absl::Duration step = MedianStep();
  if (step == absl::ZeroDuration() || std::none_of(workers.begin(), workers.end(), waits)) {
    return slow;
  }
  const absl::Duration patience = std::max(kSlowSteps * step, kSlowMin);
  for (auto& [id, worker] : workers_) {
    if (OnHand(worker) == 0 || now - worker.moved_at <= patience) continue;
    ReturnAll(id, &worker);
    slow_.insert(id);
    slow.push_back(id);
  }
  return slow;
}

std::vector<proto::Split> SplitQueue::Grant(TaskId id, int64_t workers, absl::Duration now) {
  std::vector<proto::Split> splits;
  auto it = workers_.find(id);
  if (it == workers_.end()) return splits;
  Worker& worker = it->second;
  if (slow_.contains(id)) {
    underserved_.erase(id);
    return splits;
  }
  workers = std::max<int64_t>(1, workers - static_cast<int64_t>(slow_.size()));
  const int64_t end = AllowedEnd();
  const int64_t stride = Stride(workers);
  const bool was_idle = worker.leased.empty();
  const int64_t before = worker.leased.size();
  if (worker.blocked_on >= 0) {
    // A blocked worker waits for batches below `blocked_on`. It gets a share of those first, even
    // if it has enough on hand.
    const int64_t needed_end = std::min(end, worker.blocked_on);
    const int64_t share = (open_.CountBelow(needed_end) + workers - 1) / workers;
    Take(id, &worker, std::min(share, kUnblockMax), /*stride=*/1, needed_end, &splits);
  }
  const int64_t target = Target(worker, workers);
  // Topped up only after a quarter is done: one message serves many batches.
  const int64_t on_hand = OnHand(worker);
  const int64_t room = on_hand > target * 3 / 4 ? 0 : std::min(worker.wanted, target - on_hand);
  Take(id, &worker, room, stride, end, &splits);
  if (OnHand(worker) - on_hand < room) {
    underserved_.insert(id);
  } else {
    underserved_.erase(id);
  }
  if (splits.empty()) return splits;
  worker.lacks_leases = false;
  worker.wanted = std::max<int64_t>(0, worker.wanted - (worker.leased.size() - before));
  worker.granted_at = now;
  // Idle time does not count in the worker's measured speed.
  if (on_hand == 0) worker.moved_at = now;
  if (was_idle) worker.measured_at = std::min(now, worker.measured_at + (now - worker.idle_since));
  return splits;
}

}  // namespace cairn::coordinator

#include "worker/lease_queue.h"

#include <algorithm>

namespace cairn::worker {
namespace {

// The split without its first batch.
proto::Split Rest(const proto::Split& split) {
  proto::Split rest = split;
  rest.set_first(split.first() + split.stride());
  rest.set_count(split.count() - 1);
  return rest;
}

proto::Split Single(int64_t batch) {
  proto::Split split;
  split.set_first(batch);
  split.set_stride(1);
  split.set_count(1);
  return split;
}

}  // namespace

void LeaseQueue::Clear() {
  waiting_.clear();
  waiting_count_ = 0;
  started_.clear();
}

void LeaseQueue::Add(const proto::Split& split) {
  if (split.first() < 0 || split.stride() < 1) return;
  proto::Split left = split;
  while (left.count() > 0 && (waiting_.contains(left.first()) || started_.contains(left.first()))) {
    left = Rest(left);
  }
  if (left.count() <= 0) return;
  waiting_count_ += left.count();
  waiting_.emplace(left.first(), left);
}

std::optional<int64_t> LeaseQueue::Next() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.begin()->first;
}

std::vector<int64_t> LeaseQueue::Upcoming(size_t count) const {
  std::vector<int64_t> batches;  // The smallest of the splits so far.
  for (const auto& [first, split] : waiting_) {
    if (batches.size() == count && (count == 0 || first > batches.back())) break;
    for (size_t i = 0; i < count && static_cast<int64_t>(i) < split.count(); ++i) {
      batches.push_back(first + static_cast<int64_t>(i) * split.stride());
    }
    std::sort(batches.begin(), batches.end());
    batches.resize(std::min(batches.size(), count));
  }
  return batches;
}

std::optional<int64_t> LeaseQueue::Ahead(int64_t others) const {
  std::optional<int64_t> batch;
  for (const auto& [first, split] : waiting_) {
    batch = first + std::min(others, split.count() - 1) * split.stride();
    if (others < split.count()) break;
    others -= split.count();
  }
  return batch;
}

std::optional<int64_t> LeaseQueue::Start() {
  if (waiting_.empty()) return std::nullopt;
  const proto::Split split = waiting_.begin()->second;
  waiting_.erase(waiting_.begin());
  waiting_count_ -= split.count();
  started_.insert(split.first());
  Add(Rest(split));
  return split.first();
}

void LeaseQueue::ReturnBatch(int64_t batch) {
  if (started_.erase(batch) > 0) Add(Single(batch));
}

void LeaseQueue::Finish(int64_t batch) { started_.erase(batch); }

std::vector<proto::Split> LeaseQueue::TakeWaiting() {
  std::vector<proto::Split> splits;
  for (const auto& [first, split] : waiting_) splits.push_back(split);
  waiting_.clear();
  waiting_count_ = 0;
  return splits;
}

std::vector<proto::Split> LeaseQueue::Holding() const {
  std::vector<proto::Split> splits;
  for (int64_t batch : started_) splits.push_back(Single(batch));
  for (const auto& [first, split] : waiting_) splits.push_back(split);
  return splits;
}

}  // namespace cairn::worker

#include "coordinator/training/batch_ranges.h"

#include <algorithm>
#include <iterator>

namespace cairn::coordinator {

void BatchRanges::Add(int64_t begin, int64_t end) {
  if (begin >= end) return;
  // Merge every range that overlaps or touches [begin, end) into one.
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second >= begin) --it;
  while (it != ranges_.end() && it->first <= end) {
    begin = std::min(begin, it->first);
    end = std::max(end, it->second);
    size_ -= it->second - it->first;
    it = ranges_.erase(it);
  }
  ranges_.emplace_hint(it, begin, end);
  size_ += end - begin;
}

void BatchRanges::Remove(int64_t begin, int64_t end) {
  if (begin >= end) return;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second > begin) --it;
  while (it != ranges_.end() && it->first < end) {
    const auto [old_begin, old_end] = *it;
    it = ranges_.erase(it);
    size_ -= old_end - old_begin;
    if (old_begin < begin) {
      ranges_.emplace(old_begin, begin);
      size_ += begin - old_begin;
    }
    if (old_end > end) {
      ranges_.emplace(end, old_end);
      size_ += old_end - end;
    }
  }
}

void BatchRanges::Add(const BatchRanges& other) {
  for (const auto& [begin, end] : other.ranges_) Add(begin, end);
}

void BatchRanges::Remove(const BatchRanges& other) {
  for (const auto& [begin, end] : other.ranges_) Remove(begin, end);
}

void BatchRanges::Clear() {
  ranges_.clear();
  size_ = 0;
}

bool BatchRanges::Contains(int64_t batch) const {
  auto it = ranges_.upper_bound(batch);
  return it != ranges_.begin() && std::prev(it)->second > batch;
}

std::optional<std::pair<int64_t, int64_t>> BatchRanges::NextFrom(int64_t batch) const {
  const auto after = ranges_.upper_bound(batch);
  if (after != ranges_.begin() && std::prev(after)->second > batch) {
    return std::pair(batch, std::prev(after)->second);
  }
  if (after == ranges_.end()) return std::nullopt;
  return *after;
}

int64_t BatchRanges::CountBelow(int64_t limit) const {
  if (empty() || limit >= end()) return size_;
  int64_t count = 0;
  for (const auto& [begin, end] : ranges_) {
    if (begin >= limit) break;
    count += std::min(end, limit) - begin;
  }
  return count;
}

BatchRanges BatchRanges::Intersection(int64_t begin, int64_t end) const {
  BatchRanges result;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin()) --it;
  for (; it != ranges_.end() && it->first < end; ++it) {
    result.Add(std::max(begin, it->first), std::min(end, it->second));
  }
  return result;
}

BatchRanges BatchRanges::Intersection(const BatchRanges& other) const {
  BatchRanges result;
  for (const auto& [begin, end] : other.ranges_) result.Add(Intersection(begin, end));
  return result;
}

}  // namespace cairn::coordinator

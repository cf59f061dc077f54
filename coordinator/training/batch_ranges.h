#ifndef CAIRN_COORDINATOR_TRAINING_BATCH_RANGES_H_
#define CAIRN_COORDINATOR_TRAINING_BATCH_RANGES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace cairn::coordinator {

// A set of batch numbers, stored as ranges: memory grows with the number of gaps, not of batches. A
// change costs O(log ranges) plus the ranges that it covers. Not thread-safe.
class BatchRanges {
 public:
  using Map = std::map<int64_t, int64_t>;  // begin -> end; disjoint, not touching.

  BatchRanges() = default;
  // [begin, end).
  BatchRanges(int64_t begin, int64_t end) { Add(begin, end); }

  void Add(int64_t begin, int64_t end);
  void Remove(int64_t begin, int64_t end);
  void Add(const BatchRanges& other);
  void Remove(const BatchRanges& other);
  void Clear();

  bool Contains(int64_t batch) const;
  bool empty() const { return ranges_.empty(); }
  int64_t size() const { return size_; }
  // The smallest member. Requires a non-empty set.
  int64_t front() const { return ranges_.begin()->first; }
  // One past the largest member. Requires a non-empty set.
  int64_t end() const { return ranges_.rbegin()->second; }
  // The first members from `batch` on, which are neighbors: [begin, end). nullopt if there are
  // none.
  std::optional<std::pair<int64_t, int64_t>> NextFrom(int64_t batch) const;
  // The number of members below `limit`.
  int64_t CountBelow(int64_t limit) const;
  // The members in [begin, end).
  BatchRanges Intersection(int64_t begin, int64_t end) const;
  BatchRanges Intersection(const BatchRanges& other) const;

  const Map& ranges() const { return ranges_; }
  bool operator==(const BatchRanges& other) const { return ranges_ == other.ranges_; }

 private:
  Map ranges_;
  int64_t size_ = 0;
};

}  // namespace cairn::coordinator

#endif  // CAIRN_COORDINATOR_TRAINING_BATCH_RANGES_H_

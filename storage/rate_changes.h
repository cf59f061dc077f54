#ifndef CAIRN_STORAGE_RATE_CHANGES_H_
#define CAIRN_STORAGE_RATE_CHANGES_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"
#include "proto/job.pb.h"

namespace cairn::storage {

// The learning rate of every batch of a job, from its RateChanges. Immutable.
class RateChanges {
 public:
  RateChanges() = default;
  // `changes` must be in ascending order of batches. Of several from one batch the last holds.
  explicit RateChanges(const google::protobuf::RepeatedPtrField<proto::RateChange>& changes)
      : changes_(changes.begin(), changes.end()) {}

  // The learning rate for the batch; nullopt if it is that of the job's optimizer.
  std::optional<float> At(int64_t batch) const {
    const auto next = std::upper_bound(
        changes_.begin(), changes_.end(), batch,
        [](int64_t number, const proto::RateChange& each) { return number < each.from_batch(); });
    if (next == changes_.begin()) return std::nullopt;
    return static_cast<float>(ValueAt(*std::prev(next), batch));
  }

  // The rate that `change` gives to a batch that is not before it.
  static double ValueAt(const proto::RateChange& change, int64_t batch) {
    const int64_t increments =
        (batch - change.from_batch()) / std::max<int64_t>(1, change.increment_batches());
    return change.learning_rate() + change.increment() * static_cast<double>(increments);
  }

  int64_t count() const { return static_cast<int64_t>(changes_.size()); }

 private:
  std::vector<proto::RateChange> changes_;
};

}  // namespace cairn::storage

#endif  // CAIRN_STORAGE_RATE_CHANGES_H_

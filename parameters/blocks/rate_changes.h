#ifndef CAIRN_PARAMETERS_BLOCKS_RATE_CHANGES_H_
#define CAIRN_PARAMETERS_BLOCKS_RATE_CHANGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"
#include "proto/job.pb.h"

namespace cairn::parameters {

// The learning rates that callbacks have set, each valid from a batch on. Immutable.
class RateChanges {
 public:
  // `changes` must be in ascending order of batches.
  explicit RateChanges(const google::protobuf::RepeatedPtrField<proto::RateChange>& changes) {
    for (const proto::RateChange& change : changes) {
      changes_.push_back({change.from_batch(), static_cast<float>(change.learning_rate())});
    }
  }

  // The learning rate for the batch; nullopt if it is that of the job's optimizer.
  std::optional<float> At(int64_t batch) const {
    std::optional<float> rate;
    for (const Change& change : changes_) {
      if (change.from_batch <= batch) rate = change.learning_rate;
    }
    return rate;
  }

  int64_t count() const { return static_cast<int64_t>(changes_.size()); }

 private:
  struct Change {
    int64_t from_batch;
    float learning_rate;
  };
  std::vector<Change> changes_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_RATE_CHANGES_H_

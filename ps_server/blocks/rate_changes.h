#ifndef CAIRN_PS_SERVER_BLOCKS_RATE_CHANGES_H_
#define CAIRN_PS_SERVER_BLOCKS_RATE_CHANGES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "google/protobuf/repeated_ptr_field.h"
#include "proto/job.pb.h"

namespace cairn::ps {

// The learning rates that the coordinator has decided on, each from a batch on. Immutable.
class RateChanges {
 public:
  // `changes` in the order of their batches.
  explicit RateChanges(const google::protobuf::RepeatedPtrField<proto::RateChange>& changes) {
    for (const proto::RateChange& change : changes) {
      changes_.push_back({change.from_batch(), static_cast<float>(change.learning_rate())});
    }
  }

  // With which the batch is applied; nullopt: the job's own.
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

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_RATE_CHANGES_H_

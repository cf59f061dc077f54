#ifndef CAIRN_WORKER_DATA_BATCH_ORDER_H_
#define CAIRN_WORKER_DATA_BATCH_ORDER_H_

#include <cstdint>
#include <vector>

#include "proto/job.pb.h"

namespace cairn::worker {

// Which examples a batch has: a pure function of the job's plan and the batch's number, the same
// whoever asks. Batches are numbered through the whole job; every epoch has each example exactly
// once, in a new order if the job shuffles, and its last batch may be smaller. Immutable.
class BatchOrder {
 public:
  // `examples` and `batch_size` are positive. `shuffle_block`: 0, or the block of BlockPermutation.
  BatchOrder(int64_t examples, int64_t batch_size, bool shuffle, uint64_t seed,
             int64_t shuffle_block = 0);

  // Of the training batches.
  static BatchOrder OfPlan(const proto::JobPlan& plan);
  // Of the validation batches: one epoch, in file order.
  static BatchOrder OfValidation(const proto::JobPlan& plan);

  int64_t batches_per_epoch() const { return batches_per_epoch_; }
  int64_t batch_size() const { return batch_size_; }

  // The indices of the examples of batch `batch` >= 0.
  void ExamplesOf(int64_t batch, std::vector<int64_t>* indices) const;

 private:
  int64_t examples_;
  int64_t batch_size_;
  int64_t batches_per_epoch_;
  bool shuffle_;
  int64_t shuffle_block_;
  uint64_t key_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_BATCH_ORDER_H_

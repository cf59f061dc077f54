#ifndef CAIRN_WORKER_DATA_BATCH_SAMPLER_H_
#define CAIRN_WORKER_DATA_BATCH_SAMPLER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "proto/job.pb.h"

namespace cairn::worker {

// Determines the examples of each batch. The result is a pure function of the job's plan and the
// batch's number, so it is the same on all workers and after a restart. Batches are numbered
// consecutively through the whole job. Every pass over the data has each example exactly once, in a
// new order if the job shuffles; its last batch may be smaller, or be left out. An epoch is a pass,
// unless the job has steps_per_epoch. Immutable, thread-safe.
class BatchSampler {
 public:
  // `examples` and `batch_size` must be positive. `shuffle_block`: the block size of
  // BlockPermutation, or 0 to shuffle all examples.
  BatchSampler(int64_t examples, int64_t batch_size, bool shuffle, uint64_t seed,
               int64_t shuffle_block = 0);

  // The order of the training batches.
  static BatchSampler ForTraining(const proto::JobPlan& plan);
  // The order of the validation batches: one epoch, not shuffled.
  static BatchSampler ForValidation(const proto::JobPlan& plan);

  int64_t batches_per_pass() const { return batches_per_pass_; }
  int64_t batch_size() const { return batch_size_; }

  // Sets `*indices` to the examples of batch `batch` >= 0. Those of a mixture, each pass of which
  // has others, are counted through all passes.
  void ExamplesOf(int64_t batch, std::vector<int64_t>* indices) const;

  // The key of the random draws of the batch's pass over the data; none for batches of validation.
  std::optional<uint64_t> DrawKeyOf(int64_t batch) const;

 private:
  int64_t PassOf(int64_t batch) const { return first_pass_ + batch / batches_per_pass_; }
  void ExamplesOfPass(int64_t batch, std::vector<int64_t>* indices) const;

  int64_t examples_;
  int64_t batch_size_;
  int64_t batches_per_pass_;
  int64_t first_pass_ = 0;  // The order of batch 0's pass is that of this one.
  bool counts_passes_ = false;
  bool shuffle_;
  int64_t shuffle_block_;
  uint64_t key_;
  std::optional<uint64_t> draw_key_;
};

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_DATA_BATCH_SAMPLER_H_

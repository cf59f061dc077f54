#ifndef CAIRN_TESTS_WORKER_COUNTING_PLAN_H_
#define CAIRN_TESTS_WORKER_COUNTING_PLAN_H_

#include <cstdint>

#include "proto/job.pb.h"

namespace cairn::worker {

struct CountingOptions {
  uint64_t job_id = 7;
  int64_t rows = 600;  // The number of rows of the weight.
  int64_t batches_per_epoch = 20;
  int64_t batch_size = 4;
  int64_t epochs = 5;
  bool synchronous = false;
  int64_t batches_per_update = 1;
  int64_t window = -1;
  int ps_count = 2;
  bool validation = false;
  // Adds a frozen identity layer after the counting layer.
  bool frozen_layer = false;
  double clipnorm = 0;  // 0: gradients are not clipped.
};

// The plan of a job that counts updates: Dense(1) without bias, initial weight 0, inputs of 1, mean
// absolute error against a target far below, SGD at learning rate 1. Its gradient is always exactly
// 1, so after N updates every weight is exactly -N. Also writes the data files.
proto::JobPlan CountingPlan(const CountingOptions& options);

}  // namespace cairn::worker

#endif  // CAIRN_TESTS_WORKER_COUNTING_PLAN_H_

#ifndef CAIRN_TESTS_WORKER_COUNTING_PLAN_H_
#define CAIRN_TESTS_WORKER_COUNTING_PLAN_H_

#include <cstdint>

#include "proto/job.pb.h"

namespace cairn::worker {

struct CountingOptions {
  uint64_t job_id = 7;
  int64_t rows = 600;  // Of the weight.
  int64_t batches_per_epoch = 20;
  int64_t batch_size = 4;
  int64_t epochs = 5;
  bool synchronous = false;
  int64_t batches_per_update = 1;
  int64_t window = -1;
  int ps_count = 2;
  bool validation = false;
  // Behind the counter stands a frozen layer that passes on what it gets.
  bool frozen_layer = false;
  double clipnorm = 0;  // 0: none.
};

// The plan of a job that counts: Dense(1) without bias from weight 0 on inputs of 1, mean absolute
// error against a target far below, SGD at rate 1. Its gradient is exactly 1 whatever the weight,
// so after N updates every weight is exactly -N. Writes the data files too.
proto::JobPlan CountingPlan(const CountingOptions& options);

}  // namespace cairn::worker

#endif  // CAIRN_TESTS_WORKER_COUNTING_PLAN_H_

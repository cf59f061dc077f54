#ifndef CAIRN_TESTS_END_TO_END_COUNTING_JOB_H_
#define CAIRN_TESTS_END_TO_END_COUNTING_JOB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {

// A job that counts: Dense(1, use_bias = false) from weight 0 on inputs of 1, mean absolute error
// against a target far below, SGD at learning rate 1. Its gradient is exactly 1 whatever the
// weight, so that after N batches every weight is exactly -N: one batch lost or applied twice
// shows.
struct CountingJob {
  std::string name = "count";
  int64_t batches = 1000;
  // Rows of the weight: inputs that are all 1. With rows enough and min_slice_bytes small every ps
  // has a slice.
  int rows = 512;
  int batch_size = 8;
  // Batches in an epoch; `batches` is a multiple of it.
  int64_t batches_per_epoch = 1000;
  int64_t checkpoint_every = 0;  // 0: only at epochs' ends.
  std::string strategy = R"({"parameter_server": {"mode": "async"}})";
  std::string more = "{}";  // Further fields of the job file.
};

// One that lasts for as long as somebody drills, on a machine however fast.
CountingJob EndlessCountingJob();

// Writes the data, model and job files into `folder`; the path of the job file.
std::string WriteCountingJob(const CountingJob& job, const std::string& folder);

// Every weight of the exported model in `folder` is exactly -`count`; says what it is otherwise.
// A gtest assertion result in disguise: "" when right.
std::string CountIsNot(double count, const std::string& folder, int rows);

// Takes a checkpoint of the job "count", which goes on, and exports it to `folder`. "" if it counts
// the batches that it says are settled. `cairn` runs a command on the job's cluster.
std::string CountAtCheckpoint(
    const std::function<CommandResult(const std::vector<std::string>&)>& cairn,
    const std::string& folder, int rows);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_COUNTING_JOB_H_

#ifndef CAIRN_TESTS_END_TO_END_COUNTING_JOB_H_
#define CAIRN_TESTS_END_TO_END_COUNTING_JOB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/end_to_end/test_cluster.h"

namespace cairn::testing {

// A job that counts batches: Dense(1, use_bias = false), initial weight 0, inputs of 1, mean
// absolute error against a target far below, SGD at learning rate 1. Its gradient is always exactly
// 1, so after N batches every weight is exactly -N. A batch that is lost or applied twice changes
// the result.
struct CountingJob {
  std::string name = "count";
  int64_t batches = 1000;
  // The number of rows of the weight. With enough rows and a small min_slice_bytes every ps has a
  // slice.
  int rows = 512;
  int batch_size = 8;
  // Batches in an epoch; `batches` is a multiple of it.
  int64_t batches_per_epoch = 1000;
  int64_t checkpoint_every = 0;  // 0: only at the ends of epochs.
  std::string strategy = R"({"parameter_server": {"mode": "async"}})";
  std::string more = "{}";  // Further fields of the job file.
  // Every example has a gradient of its own. A sum over all batches then also shows that one was
  // lost and another applied twice. See SumIsNot.
  bool distinct = false;
  // As in `strategy`. An update applies the mean gradient of its batches; an epoch has whole
  // updates.
  int64_t batches_per_update = 1;
};

// A job that lasts for a whole drill on any machine.
CountingJob EndlessCountingJob();

// Writes the data, model and job files to `folder` and returns the path of the job file.
std::string WriteCountingJob(const CountingJob& job, const std::string& folder);

// Checks that every weight of the exported model in `folder` is exactly -`count`. Returns "" or a
// description of the difference.
std::string CountIsNot(double count, const std::string& folder, int rows);

// As CountIsNot, for the finished job with `distinct`: every weight is the negative sum over the
// epochs of the gradients of all updates.
std::string SumIsNot(const CountingJob& job, const std::string& folder);

// Runs a command on the job's cluster.
using CommandRunner = std::function<CommandResult(const std::vector<std::string>& command)>;

// Takes a checkpoint of the running job "count" and exports it to `folder`. Returns "" if its
// weight is the number of batches, or of updates, that it reports as applied.
std::string CountAtCheckpoint(const CommandRunner& cairn, const std::string& folder, int rows,
                              int64_t batches_per_update = 1);

// Exports to `folder` the checkpoint at the end of an epoch of the running job "count", which is
// endless and has `distinct`, that ends from now on: at another moment nobody knows which batches
// are in it. Returns "" if its sum is exact, else a description, which begins with "row" if the sum
// is another one.
std::string SumAtNextEpoch(const CommandRunner& cairn, const std::string& folder, CountingJob job);

}  // namespace cairn::testing

#endif  // CAIRN_TESTS_END_TO_END_COUNTING_JOB_H_

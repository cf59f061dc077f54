#ifndef CAIRN_TESTS_PARAMETERS_TEST_JOB_H_
#define CAIRN_TESTS_PARAMETERS_TEST_JOB_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/job_layout.h"
#include "proto/job.pb.h"

namespace cairn::parameters {

struct TestJobOptions {
  uint64_t job_id = 7;
  std::string optimizer = "sgd";
  double learning_rate = 1.0;
  bool synchronous = false;
  int64_t batches_per_update = 1;
  int64_t window = -1;
  int64_t batches_per_epoch = 10;
  int64_t total_batches = 100;
  int64_t batch_size = 128;
  int ps_count = 1;
  uint32_t ps = 0;
  bool weights_uploaded = false;
  int64_t hidden_units = 6;
  double global_clipnorm = 0;              // 0 if none.
  std::string kernel_constraint = "null";  // JSON, of the layer "hidden".
};

// A job with a small model that has blocks of all kinds: "hidden" is a Dense layer with 4 inputs,
// "norm" a BatchNormalization (moving statistics with momentum 0.5), "frozen" a Dense layer that is
// not trainable.
proto::JobPlan MakePlan(const TestJobOptions& options);
std::shared_ptr<const JobLayout> MakeLayout(const TestJobOptions& options);

// The position of the first block of a variable: "hidden/kernel", "norm/moving_mean",
// "frozen/bias".
int PositionOf(const JobLayout& layout, const std::string& variable);

BlockBuffer Filled(BufferPool* pool, int64_t count, float value);
std::vector<float> Values(const BlockBuffer& buffer);

}  // namespace cairn::parameters

#endif  // CAIRN_TESTS_PARAMETERS_TEST_JOB_H_

#ifndef CAIRN_WORKER_COMPUTE_THREADS_H_
#define CAIRN_WORKER_COMPUTE_THREADS_H_

#include "cluster/tf_config.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// With how many threads a worker computes. A value.
struct ComputeThreads {
  // What --threads says; 0: nothing.
  int said = 0;
  // What the machine has for this worker, at least 1.
  int share = 1;

  // What is said, else the share; but synchronous jobs, whose result must not depend on which
  // machine or how many workers computed it, have one thread unless something else is said: sums
  // are rounded differently when threads share them.
  int Of(const proto::JobPlan& plan) const;
  // The most that any job gets.
  int most() const { return said > 0 ? said : share; }
};

// `cores` divided by the workers and evaluators that TF_CONFIG puts on the task's own host, but not
// less than 1. A task that TF_CONFIG does not name, or gives no address, cannot know who is beside
// it: 1.
int ShareOfCores(const cluster::TfConfig& config, int cores);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_COMPUTE_THREADS_H_

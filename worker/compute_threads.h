#ifndef CAIRN_WORKER_COMPUTE_THREADS_H_
#define CAIRN_WORKER_COMPUTE_THREADS_H_

#include "cluster/tf_config.h"
#include "proto/job.pb.h"

namespace cairn::worker {

// The number of threads with which a worker computes.
struct ComputeThreads {
  // The value of --threads; 0: not given.
  int said = 0;
  // This worker's share of the machine's cores, at least 1.
  int share = 1;

  // The number of threads for a job: --threads if given, else 1 for a synchronous job, else the
  // share. The result of a synchronous job must not depend on the machine or on the number of
  // workers, but the rounding of a sum depends on the number of threads that compute it.
  int Of(const proto::JobPlan& plan) const;
  // The largest number that any job gets.
  int most() const { return said > 0 ? said : share; }
};

// `cores` divided by the number of workers and evaluators that TF_CONFIG places on this task's
// host, at least 1. Returns 1 if TF_CONFIG does not name the task or has no address for it: the
// number of other tasks on the host is then unknown.
int ShareOfCores(const cluster::TfConfig& config, int cores);

}  // namespace cairn::worker

#endif  // CAIRN_WORKER_COMPUTE_THREADS_H_

#ifndef CAIRN_TESTS_COORDINATOR_SIMULATED_JOB_H_
#define CAIRN_TESTS_COORDINATOR_SIMULATED_JOB_H_

#include <cstdint>
#include <string>

#include "proto/job.pb.h"
#include "tests/coordinator/simulation.h"

namespace cairn::coordinator {

// A job with validation and `epochs` epochs of 10 batches (the simulated data has 100 examples).
// `mode`: async, sync (3 batches per update), stale (window 4) or mirrored
// (sync, with replicas; the simulated ps are parts of workers).
proto::Job SimulatedJob(const std::string& mode, int64_t epochs);

// A cluster without faults for it: 2 ps, 3 workers and a fresh journal.
Simulation::Options SimulatedCluster(const proto::Job& job, uint64_t seed = 1);

}  // namespace cairn::coordinator

#endif  // CAIRN_TESTS_COORDINATOR_SIMULATED_JOB_H_

#ifndef CAIRN_TESTS_SCHEDULES_INVARIANTS_H_
#define CAIRN_TESTS_SCHEDULES_INVARIANTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "parameters/blocks/block.h"
#include "proto/checkpoint.pb.h"
#include "tests/schedules/simulated_world.h"

namespace cairn::schedules {

// What must hold in every schedule (see schedule.h). Each function returns the first violation, or
// "" if there is none.

// What the job's mode promises about the values that a batch is computed on.
std::string CheckPulledValues(const JobShape& job, int64_t batch, uint32_t block,
                              const parameters::BlockBuffer& values);

// All parts are on disks, and synced, and every block has exactly the batches that are listed, each
// once.
std::string CheckManifest(const JobShape& job, const proto::Manifest& manifest,
                          const std::vector<SnapshotDisk>& disks);

// Each batch has counted exactly once on each of these blocks.
std::string CheckFinalBlocks(const JobShape& job,
                             const std::vector<parameters::BlockState>& blocks);

}  // namespace cairn::schedules

#endif  // CAIRN_TESTS_SCHEDULES_INVARIANTS_H_

#ifndef CAIRN_JOB_BATCH_GROUPS_H_
#define CAIRN_JOB_BATCH_GROUPS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "proto/job.pb.h"

namespace cairn::job {

// The adjacent blocks of `shuffle_block` rows whose rows are shuffled together.
inline constexpr int64_t kShuffleBlocksMixed = 32;

// The batches of a job, divided into groups of consecutive ones that read the same files or the
// same shuffled blocks. If one worker computes a group, no other one opens those files. Groups are
// numbered through all passes over the data. Immutable, thread-safe.
class BatchGroups {
 public:
  // No groups.
  BatchGroups() = default;
  // Group i of each pass ends before batch `ends[i]` of the pass. `ends` is ascending, begins above
  // 0, and ends with the number of batches in a pass.
  explicit BatchGroups(std::vector<int64_t> ends) : ends_(std::move(ends)) {}

  // No groups if the data are not divided into files or blocks, or if a batch needs a whole one.
  // A boundary may be off by a batch, or by a block after the incomplete one.
  static BatchGroups ForTraining(const proto::JobPlan& plan);

  bool empty() const { return ends_.empty(); }
  // The group of a batch >= 0. Requires groups.
  int64_t Of(int64_t batch) const;
  // The batches [begin, end) of a group. Requires groups.
  std::pair<int64_t, int64_t> Range(int64_t group) const;

 private:
  std::vector<int64_t> ends_;
};

}  // namespace cairn::job

#endif  // CAIRN_JOB_BATCH_GROUPS_H_

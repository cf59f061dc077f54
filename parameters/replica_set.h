#ifndef CAIRN_PARAMETERS_REPLICA_SET_H_
#define CAIRN_PARAMETERS_REPLICA_SET_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/replicated_state.h"
#include "parameters/blocks/update_rule.h"

namespace cairn::parameters {

// All blocks of a replicated job that one member has in memory, its own and its replicas, each in
// one or two versions. Immutable; shares the buffers of the blocks. Thread-safe.
//
// In every member that has received what it acknowledged, there is a version in which all blocks
// are available, and it contains every update that is applied on all blocks of the cluster:
//
// - A block is applied only when all replicas have received the update, so no replica is behind.
// - The next update of any block needs gradients that are pushed only when all blocks are applied.
//   Until then owners keep the state before the last update, and replicas that of before and after.
class ReplicaSet {
 public:
  // `own` and `others` are in the order of the blocks of the layouts.
  ReplicaSet(uint64_t generation, std::shared_ptr<const JobLayout> own_layout,
             std::vector<ReplicatedState> own, std::shared_ptr<const JobLayout> other_layout,
             std::vector<ReplicatedState> others);

  uint64_t job_id() const { return own_.layout->job_id(); }
  const proto::JobPlan& plan() const { return own_.layout->plan(); }
  uint64_t generation() const { return generation_; }
  // The versions in which all blocks are available: none if lowest > newest.
  VersionRange versions() const { return versions_; }

  // A block in one version. `layout` and `block` are those of its part.
  struct Found {
    std::shared_ptr<const JobLayout> layout;
    const BlockSpec* block = nullptr;
    BlockState state;
  };
  // NotFound: the version is not available. InvalidArgument: there is no such block.
  absl::StatusOr<Found> Find(uint32_t block_id, int64_t version) const;

 private:
  struct Part {
    std::shared_ptr<const JobLayout> layout;
    std::vector<ReplicatedState> states;
  };

  const uint64_t generation_;
  const Part own_;
  const Part others_;
  VersionRange versions_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_REPLICA_SET_H_

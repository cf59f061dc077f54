#include "parameters/replica_set.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"

namespace cairn::parameters {

ReplicaSet::ReplicaSet(uint64_t generation, std::shared_ptr<const JobLayout> own_layout,
                       std::vector<ReplicatedState> own,
                       std::shared_ptr<const JobLayout> other_layout,
                       std::vector<ReplicatedState> others)
    : generation_(generation),
      own_{std::move(own_layout), std::move(own)},
      others_{std::move(other_layout), std::move(others)},
      versions_{0, own_.layout->plan().total_batches()} {
  for (const Part* part : {&own_, &others_}) {
    CAIRN_CHECK(part->states.size() == part->layout->blocks().size());
    for (size_t position = 0; position < part->states.size(); ++position) {
      const VersionRange of_block =
          VersionsOf(*part->layout, part->layout->blocks()[position], part->states[position]);
      versions_.lowest = std::max(versions_.lowest, of_block.lowest);
      versions_.newest = std::min(versions_.newest, of_block.newest);
    }
  }
}

absl::StatusOr<ReplicaSet::Found> ReplicaSet::Find(uint32_t block_id, int64_t version) const {
  const bool is_own = own_.layout->Find(block_id).ok();
  const Part& part = is_own ? own_ : others_;
  CAIRN_ASSIGN_OR_RETURN(const int position, part.layout->Find(block_id));
  Found found = {part.layout, &part.layout->blocks()[position], {}};
  CAIRN_ASSIGN_OR_RETURN(found.state, StateAt(*found.block, part.states[position], version));
  return found;
}

}  // namespace cairn::parameters

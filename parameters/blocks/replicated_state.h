#ifndef CAIRN_PARAMETERS_BLOCKS_REPLICATED_STATE_H_
#define CAIRN_PARAMETERS_BLOCKS_REPLICATED_STATE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/update_rule.h"

namespace cairn::parameters {

// The mean gradient of an update of one block.
struct ReducedBlock {
  int position = 0;   // Of the block in the layout.
  int64_t batch = 0;  // The first of the update.
  BlockBuffer mean;   // Null: no batch has a gradient.
  float scale = 1;    // See Block::ApplyUpdate.
};

// The versions of a block that one member of a replicated job has: its state and, at most one of
// them, the state before (of the owner) or the next one (of a replica). A version is the number of
// batches that are applied, which are all below it.
struct ReplicatedState {
  BlockState state;
  std::optional<BlockState> previous;
  std::optional<BlockState> next;
};

// The versions that are available: all of them from `lowest` to `newest`.
struct VersionRange {
  int64_t lowest = 0;
  int64_t newest = 0;
};
VersionRange VersionsOf(const JobLayout& layout, const BlockSpec& block,
                        const ReplicatedState& replicas);

// Returns the state of the block in this version, which shares the buffers of `replicas`. NotFound:
// the version is not available.
absl::StatusOr<BlockState> StateAt(const BlockSpec& block, const ReplicatedState& replicas,
                                   int64_t version);

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_REPLICATED_STATE_H_

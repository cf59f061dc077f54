#ifndef CAIRN_PARAMETERS_BLOCKS_UPDATE_RULE_H_
#define CAIRN_PARAMETERS_BLOCKS_UPDATE_RULE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "parameters/blocks/block_buffer.h"
#include "parameters/blocks/job_layout.h"
#include "parameters/blocks/push_ledger.h"

namespace cairn::parameters {

// The state of a block: what a cut keeps and a snapshot stores. Copies share the buffers.
struct BlockState {
  BlockBuffer values;
  // The optimizer's slots, one after another; null if the block has none.
  BlockBuffer slots;
  // The number of updates (batches without a gradient do not count).
  int64_t version = 0;
  PushLedger ledger;
};

// Applies gradients to blocks: with the optimizer and the variable's constraint, or, for moving
// statistics, as a moving average.
// Thread-safe for different states.
class UpdateRule {
 public:
  // `layout` and `pool` must outlive the rule.
  UpdateRule(const JobLayout* layout, BufferPool* pool) : layout_(*layout), pool_(*pool) {}

  // Applies one update: `gradient` has block.count values, and is multiplied by `scale` if the
  // block is optimized. The learning rate is that of the optimizer if it is nullopt. Updates the
  // buffers in place if the state has the only reference, and otherwise writes to new buffers; both
  // take a single pass over memory, and a constraint two more. Does not change the ledger.
  // ResourceExhausted: no memory for a new buffer; the state is unchanged.
  absl::Status Apply(const BlockSpec& block, const float* gradient, float scale,
                     std::optional<float> learning_rate, BlockState* state) const;

 private:
  // Applies the constraint of the block's variable, if it has one.
  void Constrain(const BlockSpec& block, float* values) const;

  // If `buffer` has other references, sets `fresh` to a new buffer of its size.
  absl::Status MakeWritable(const BlockSpec& block, const BlockBuffer& buffer,
                            BlockBuffer* fresh) const;

  const JobLayout& layout_;
  BufferPool& pool_;
};

}  // namespace cairn::parameters

#endif  // CAIRN_PARAMETERS_BLOCKS_UPDATE_RULE_H_

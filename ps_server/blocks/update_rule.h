#ifndef CAIRN_PS_SERVER_BLOCKS_UPDATE_RULE_H_
#define CAIRN_PS_SERVER_BLOCKS_UPDATE_RULE_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "ps_server/blocks/block_buffer.h"
#include "ps_server/blocks/job_layout.h"
#include "ps_server/blocks/push_ledger.h"

namespace cairn::ps {

// All that a block is made of: what a cut keeps and a snapshot stores. Copies share the buffers.
struct BlockState {
  BlockBuffer values;
  // The optimizer's slots, one after the other; null if the block has none.
  BlockBuffer slots;
  // Updates that the block has seen (batches without a gradient do not count).
  int64_t version = 0;
  PushLedger ledger;
};

// How a gradient changes a block: by the optimizer, or, for moving statistics, by their average.
// Thread-safe; the states are the callers'.
class UpdateRule {
 public:
  // Both must outlive it.
  UpdateRule(const JobLayout* layout, BufferPool* pool) : layout_(*layout), pool_(*pool) {}

  struct Gradient {
    const float* values = nullptr;  // As many as the block has.
    float scale = 1;  // What it is multiplied with, if it is the gradient of an optimized block.
  };

  // One update with this learning rate (nullopt: the job's), in place where nobody else looks at
  // the state's buffers, else into fresh ones, in the same single pass over memory. Leaves the
  // ledger alone. ResourceExhausted: no memory for a fresh buffer; the state is unchanged.
  absl::Status Apply(const BlockSpec& block, const Gradient& gradient,
                     std::optional<float> learning_rate, BlockState* state) const;

 private:
  // Sets `fresh` to another buffer of the size of `buffer` if others refer to that too.
  absl::Status MakeWritable(const BlockSpec& block, const BlockBuffer& buffer,
                            BlockBuffer* fresh) const;
  void Optimize(const BlockSpec& block, const Gradient& gradient, float learning_rate,
                const BlockState& from, float* values_out, float* slots_out) const;

  const JobLayout& layout_;
  BufferPool& pool_;
};

}  // namespace cairn::ps

#endif  // CAIRN_PS_SERVER_BLOCKS_UPDATE_RULE_H_
